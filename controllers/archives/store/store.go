// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// Store is an archive.Bucket in an object store. It is safe for concurrent use.
type Store struct {
	bucket *blob.Bucket
	dir    string // of files; empty for other stores
}

var _ archive.Bucket = (*Store)(nil)

// New is a Store in a bucket that is already open. Close closes the bucket.
func New(bucket *blob.Bucket) *Store { return &Store{bucket: bucket} }

// Close releases what the bucket uses. Calls that run fail.
func (s *Store) Close() error { return s.bucket.Close() }

// Read opens an object.
func (s *Store) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := s.bucket.NewReader(ctx, name, nil)
	switch {
	case err == nil:
		return r, nil
	case isNotFound(err):
		return nil, fmt.Errorf("read object %q: %w", name, archive.ErrNotFound)
	default:
		return nil, fmt.Errorf("read object %q: %w", name, err)
	}
}

// List yields objects in the order of their names.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[archive.Entry, error] {
	return func(yield func(archive.Entry, error) bool) {
		objects, failed := s.bucket.List(&blob.ListOptions{Prefix: prefix}).All(ctx)
		for o := range objects {
			if !yield(archive.Entry{Name: o.Key, Size: o.Size}, nil) {
				return
			}
		}
		if err := failed(); err != nil {
			yield(archive.Entry{}, fmt.Errorf("list objects %q: %w", prefix, err))
		}
	}
}

// Write writes an object that does not exist, reads it back and compares. If the store then has exactly the bytes, the write has
// succeeded, even after an error: the answer may be lost, and stores with object lock may answer 403 for an object that exists.
//
// A crash or an error between these steps leaves an object without a receipt. Nothing was deleted because of it: the caller
// succeeds later, by writing the same bytes again or a segment with another name.
func (s *Store) Write(ctx context.Context, name string, data []byte) error {
	ctx, cancel := context.WithCancel(ctx) // ends a writer that did not end
	defer cancel()
	written := s.bucket.Upload(ctx, name, bytes.NewReader(data), &blob.WriterOptions{ // unlike WriteAll, it computes no MD5
		ContentType: "application/octet-stream", DisableContentTypeDetection: true, IfNotExist: true, MaxConcurrency: 1,
	})
	err := s.sync(name)
	if err != nil {
		err = fmt.Errorf("write object %q to the disk: %w", name, err)
	} else {
		err = s.compare(ctx, name, data)
	}
	if err == nil || written == nil || isExisting(written) {
		return err
	}
	failed := fmt.Errorf("write object %q: %w", name, written)
	if errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, archive.ErrNotFound) && gcerrors.Code(written) != gcerrors.PermissionDenied {
		// A full disk leaves a part of the object. The name contains the digest of the whole, so readers would report it.
		_ = s.Delete(ctx, name) // even after an error, the store may delete it later
		return fmt.Errorf("%w: %w", failed, archive.ErrPart)
	}
	return failed
}

// compare reads an object and compares it with what was written.
func (s *Store) compare(ctx context.Context, name string, data []byte) error {
	r, err := s.Read(ctx, name)
	if errors.Is(err, archive.ErrNotFound) {
		return fmt.Errorf("object %q: %w: the store reported success for the write, and does not have the object; check the store: %w", name, archive.ErrCorrupt, archive.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("verify after the write: %w", err)
	}
	same, err := hasBytes(r, data)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("verify object %q after the write: %w", name, err)
	}
	if !same {
		return fmt.Errorf("object %q: %w: the store has other bytes; check the store, and whether another program writes to it", name, archive.ErrCorrupt)
	}
	return nil
}

// hasBytes reports whether r has exactly these bytes.
func hasBytes(r io.Reader, data []byte) (bool, error) {
	buffer := make([]byte, min(32<<10, len(data)+1))
	for {
		n, err := r.Read(buffer)
		rest, same := bytes.CutPrefix(data, buffer[:n])
		switch {
		case !same:
			return false, nil
		case err == io.EOF: // a wrapped one is a connection that broke
			return len(rest) == 0, nil
		case err != nil:
			return false, err
		}
		data = rest
	}
}

// Delete deletes an object.
func (s *Store) Delete(ctx context.Context, name string) error {
	err := s.bucket.Delete(ctx, name)
	switch {
	case err == nil || isNotFound(err):
		return nil
	case isRefused(err):
		return fmt.Errorf("delete object %q: %w, because of object lock, a hold or a missing permission: %w", name, archive.ErrRefused, err)
	default:
		return fmt.Errorf("delete object %q: %w", name, err)
	}
}

// isExisting reports whether an object was not written because it exists.
func isExisting(err error) bool {
	return gcerrors.Code(err) == gcerrors.FailedPrecondition || gcerrors.Code(err) == gcerrors.AlreadyExists
}
