// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"io"
	"iter"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// current is the Bucket of a worker as it is open now, with the present credentials. It writes nothing unless this process leads.
type current struct{ *worker }

func (c current) bucket(ctx context.Context) (archive.Bucket, error) { return c.worker.open(ctx) }

// Read implements archive.Bucket.
func (c current) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	b, err := c.bucket(ctx)
	if err != nil {
		return nil, err
	}
	return b.Read(ctx, name)
}

// List implements archive.Bucket.
func (c current) List(ctx context.Context, prefix string) iter.Seq2[archive.Entry, error] {
	return func(yield func(archive.Entry, error) bool) {
		b, err := c.bucket(ctx)
		if err != nil {
			yield(archive.Entry{}, err)
			return
		}
		b.List(ctx, prefix)(yield)
	}
}

// Write implements archive.Bucket.
func (c current) Write(ctx context.Context, name string, data []byte) error {
	if err := c.manager.mayWrite(); err != nil {
		return err
	}
	b, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	return b.Write(ctx, name, data)
}

// Delete implements archive.Bucket.
func (c current) Delete(ctx context.Context, name string) error {
	if err := c.manager.mayWrite(); err != nil {
		return err
	}
	b, err := c.bucket(ctx)
	if err != nil {
		return err
	}
	return b.Delete(ctx, name)
}
