package rego

import (
	"context"
	"fmt"
	"runtime/metrics"
	"sync"
	"time"
)

// heap is the measure that an evaluation is held to: bytes of live and not yet
// swept objects.
const heap = "/memory/classes/heap/objects:bytes"

// look is how often an evaluation's memory is looked at. Most end before the first
// time, and then only a timer was set.
const look = 5 * time.Millisecond

// limited is ctx with the limits on time and memory. OPA has no limit of its own on
// memory, and it asks between two steps of an evaluation whether it was cancelled.
func limited(parent context.Context) (context.Context, func()) {
	ctx, release := context.WithTimeout(parent, maxTime)
	ctx, cancel := context.WithCancelCause(ctx)
	before := inUse()
	var set sync.Mutex // a timer may fire before it is known to its function
	var timer *time.Timer
	set.Lock()
	timer = time.AfterFunc(look, func() {
		if ctx.Err() != nil {
			return
		}
		if used := inUse(); used > before && used-before > maxMemory {
			cancel(fmt.Errorf("they took more than %d MiB of memory", maxMemory>>20))
			return
		}
		set.Lock()
		defer set.Unlock()
		timer.Reset(look)
	})
	set.Unlock()
	return ctx, func() {
		cancel(nil)
		release()
		timer.Stop()
	}
}

func inUse() uint64 {
	sample := []metrics.Sample{{Name: heap}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
