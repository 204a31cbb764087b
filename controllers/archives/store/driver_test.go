// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// fake is a store in memory that can lie.
type fake struct {
	mu      sync.Mutex
	objects map[string][]byte

	keep        func(data []byte) []byte // what the store keeps of a write; nil result: nothing
	writeError  error                    // although the object may be stored
	readError   error                    // after half of the bytes
	deleteError error
	deletions   int   // requests
	hide        bool  // from listings
	listed      error // of each list; nil for none
}

func newFake() (*fake, *blob.Bucket) {
	f := &fake{objects: map[string][]byte{}, keep: func(data []byte) []byte { return data }}
	return f, blob.NewBucket(f)
}

var (
	errExists = errors.New("exists")
	errNone   = errors.New("no such object")
	errLocked = errors.New("locked")
)

func (f *fake) ErrorCode(err error) gcerrors.ErrorCode {
	switch {
	case errors.Is(err, errExists):
		return gcerrors.FailedPrecondition
	case errors.Is(err, errNone):
		return gcerrors.NotFound
	case errors.Is(err, errLocked):
		return gcerrors.PermissionDenied
	default:
		return gcerrors.Unknown
	}
}

func (f *fake) As(any) bool             { return false }
func (f *fake) ErrorAs(error, any) bool { return false }
func (f *fake) Close() error            { return nil }
func (f *fake) Attributes(context.Context, string) (*driver.Attributes, error) {
	return nil, fs.ErrInvalid
}
func (f *fake) Copy(context.Context, string, string, *driver.CopyOptions) error { return fs.ErrInvalid }
func (f *fake) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", fs.ErrInvalid
}

func (f *fake) ListPaged(_ context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed != nil {
		return nil, f.listed
	}
	page := &driver.ListPage{}
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		if strings.HasPrefix(key, o.Prefix) && !f.hide {
			page.Objects = append(page.Objects, &driver.ListObject{Key: key, Size: int64(len(f.objects[key]))})
		}
	}
	return page, nil
}

type fakeReader struct {
	io.Reader
	size int64
}

func (r *fakeReader) Close() error { return nil }
func (r *fakeReader) As(any) bool  { return false }
func (r *fakeReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ContentType: "application/octet-stream", Size: r.size}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (f *fake) NewRangeReader(_ context.Context, key string, _, _ int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.objects[key]
	if !ok {
		return nil, errNone
	}
	if f.readError != nil {
		return &fakeReader{io.MultiReader(bytes.NewReader(data[:len(data)/2]), failing{f.readError}), int64(len(data))}, nil
	}
	return &fakeReader{bytes.NewReader(data), int64(len(data))}, nil
}

type fakeWriter struct {
	bytes.Buffer
	ctx  context.Context
	fake *fake
	key  string
	once bool
}

func (f *fake) NewTypedWriter(ctx context.Context, key, _ string, o *driver.WriterOptions) (driver.Writer, error) {
	return &fakeWriter{ctx: ctx, fake: f, key: key, once: o.IfNotExist}, nil
}

func (w *fakeWriter) Close() error {
	f := w.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	if _, exists := f.objects[w.key]; exists && w.once {
		return cmp.Or(f.writeError, errExists)
	}
	if data := f.keep(bytes.Clone(w.Bytes())); data != nil {
		f.objects[w.key] = data
	}
	return f.writeError
}

func (f *fake) Delete(_ context.Context, key string, _ *driver.DeleteOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deletions++
	if f.deleteError != nil {
		return f.deleteError
	}
	if _, ok := f.objects[key]; !ok {
		return errNone
	}
	delete(f.objects, key)
	return nil
}
