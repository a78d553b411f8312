package targets

import (
	"cmp"
	"errors"
	"testing"
)

// TestAtOnce: the errors are in the order of the work, whichever is done first, and
// what panics does so in the caller.
func TestAtOnce(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	later := make(chan struct{})
	faults := atOnce(
		func() error { <-later; return first },
		func() error { return nil },
		func() error { close(later); return second },
	)
	if len(faults) != 3 || faults[1] != nil || cmp.Or(faults...) != first || faults[2] != second {
		t.Errorf("atOnce = %v, want %v, nil, %v", faults, first, second)
	}
	defer func() {
		if p := recover(); p != "a bug" {
			t.Errorf("the caller panics with %v, want a bug", p)
		}
	}()
	atOnce(func() error { return first }, func() error { panic("a bug") })
}
