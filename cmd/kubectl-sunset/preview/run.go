// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Batch is a few objects. They may not be decoded yet.
type Batch interface {
	Objects() ([]map[string]any, error)
}

// Feed yields batches one by one. It stops at the first error of yield and returns it.
type Feed func(yield func(Batch) error) error

// waiting is the capacity of the queue of batches. It bounds memory.
const waiting = 64

// Run decodes and evaluates all objects of the feed, on all processors. It returns an error of the feed, or of a batch that
// cannot be decoded.
func (j *Judge) Run(ctx context.Context, feed Feed) (*Result, error) {
	var byWorker []*results
	err := distribute(ctx, j.Compiler, feed, func(e *engine.Evaluator) objectFunc {
		w := j.newWorker(e)
		byWorker = append(byWorker, w.results)
		return w.judge
	})
	if err != nil {
		return nil, err
	}
	return j.result(byWorker), nil
}

// objectFunc processes objects one at a time.
type objectFunc func(object map[string]any)

// distribute passes each object to one of GOMAXPROCS workers. It calls newWorker sequentially.
func distribute(ctx context.Context, compiler *engine.Compiler, feed Feed, newWorker func(*engine.Evaluator) objectFunc) error {
	batches := make(chan Batch, waiting)
	group, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		evaluator := compiler.NewEvaluator(ctx)
		w := newWorker(evaluator)
		group.Go(func() error {
			defer evaluator.Close()
			return work(batches, w)
		})
	}
	group.Go(func() error {
		defer close(batches)
		return feed(func(b Batch) error {
			select {
			case batches <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	return group.Wait()
}

func work(batches <-chan Batch, see objectFunc) error {
	for batch := range batches {
		objects, err := batch.Objects()
		if err != nil {
			return err
		}
		for _, object := range objects {
			see(object)
		}
	}
	return nil
}

func (j *Judge) newWorker(e *engine.Evaluator) *worker {
	e.SetNode(j.Node)
	w := &worker{Judge: j, evaluator: e, results: j.newResults()}
	if j.Whole && slices.ContainsFunc(j.Policies, (*policy.Policy).DeletesOwners) {
		w.results.owners = ownerGraph{}
	}
	return w
}
