package targets

import "sync"

// atOnce does all the work at the same time and gives the error of each, in the order
// of the work.
func atOnce(work ...func() error) []error { return begin(work...)() }

// begin is atOnce for who has something else to do, and waits later. What panics does
// so in who waits, and knows what to do about it.
func begin(work ...func() error) (wait func() []error) {
	faults, panics := make([]error, len(work)), make([]any, len(work))
	var group sync.WaitGroup
	for i, do := range work {
		group.Go(func() {
			defer func() { panics[i] = recover() }()
			faults[i] = do()
		})
	}
	return func() []error {
		group.Wait()
		for _, p := range panics {
			if p != nil {
				panic(p)
			}
		}
		return faults
	}
}
