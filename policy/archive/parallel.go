// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"iter"
	"sync"
)

const (
	parallelDays  = 4  // that are read ahead of the caller
	parallelReads = 16 // objects that are read at the same time
)

// ahead yields do of each item, in their order, and calls do for some items ahead of the caller, in goroutines of their own. If the
// caller stops or ctx ends, it cancels them and waits for them.
func ahead[T, R any](ctx context.Context, items iter.Seq[T], do func(context.Context, T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		var running sync.WaitGroup
		defer running.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var queue []chan R
		next := func() bool {
			result := <-queue[0]
			queue = queue[1:]
			return ctx.Err() == nil && yield(result)
		}
		for item := range items {
			if len(queue) == parallelDays && !next() {
				return
			}
			result := make(chan R, 1)
			queue = append(queue, result)
			running.Go(func() { result <- do(ctx, item) })
		}
		for len(queue) > 0 && next() {
		}
	}
}
