package rego

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"
)

// heap is the measure that an evaluation is held to: bytes of live and not yet
// swept objects.
const heap = "/memory/classes/heap/objects:bytes"

// limited is ctx with the limits on time and memory. Memory is looked at every few
// milliseconds: OPA has no limit of its own, and it asks between two steps of an
// evaluation whether it was cancelled.
func limited(parent context.Context) (context.Context, func()) {
	ctx, release := context.WithTimeout(parent, maxTime)
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		before := inUse()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if used := inUse(); used > before && used-before > maxMemory {
					cancel(fmt.Errorf("they took more than %d MiB of memory", maxMemory>>20))
					return
				}
			}
		}
	}()
	return ctx, func() {
		close(done)
		cancel(nil)
		release()
	}
}

func inUse() uint64 {
	sample := []metrics.Sample{{Name: heap}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
