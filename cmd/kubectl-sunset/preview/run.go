package preview

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifest"
)

// Batch is a few objects that may not be decoded yet.
type Batch interface {
	Objects() ([]map[string]any, error)
}

// Feed gives batches one by one, and stops at the first error of yield, which it returns.
type Feed func(yield func(Batch) error) error

// FromFiles feeds the objects of files.
func FromFiles(files *manifest.Files) Feed {
	return func(yield func(Batch) error) error {
		return files.Each(func(item manifest.Item) error { return yield(item) })
	}
}

// waiting is how many batches wait to be judged. It bounds what is held at a time.
const waiting = 64

// Run decodes and judges all that the feed gives, on all processors. An error is that of the feed, or of a batch that
// cannot be decoded.
func (j *Judge) Run(ctx context.Context, feed Feed) (*Result, error) {
	batches := make(chan Batch, waiting)
	sheets := make([]*sheet, runtime.GOMAXPROCS(0))
	group, ctx := errgroup.WithContext(ctx)
	for i := range sheets {
		sheets[i] = newSheet(j.At)
		group.Go(func() error { return j.work(ctx, batches, sheets[i]) })
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
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return j.result(sheets), nil
}

func (j *Judge) work(ctx context.Context, batches <-chan Batch, s *sheet) error {
	b := &bench{Judge: j, evaluator: j.Compiler.NewEvaluator(ctx), sheet: s}
	defer b.evaluator.Close()
	for batch := range batches {
		objects, err := batch.Objects()
		if err != nil {
			return err
		}
		for _, object := range objects {
			b.judge(object)
		}
	}
	return nil
}
