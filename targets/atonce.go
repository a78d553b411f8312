package targets

import "sync"

// atOnce does all the work at the same time and gives the error of each, in the order
// of the work. What panics does so in the caller, which knows what to do about it.
func atOnce(work ...func() error) []error {
	faults, panics := make([]error, len(work)), make([]any, len(work))
	var group sync.WaitGroup
	for i, do := range work {
		group.Go(func() {
			defer func() { panics[i] = recover() }()
			faults[i] = do()
		})
	}
	group.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	return faults
}
