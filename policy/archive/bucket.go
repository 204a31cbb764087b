// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"io"
	"iter"
)

// Bucket is what an archive needs of an object store. Names are relative to the URL of the archive. It is safe for concurrent use.
// All errors name the object.
type Bucket interface {
	// Read opens an object. The error is ErrNotFound if there is none.
	Read(ctx context.Context, name string) (io.ReadCloser, error)
	// List yields the objects whose names start with prefix, in the order of their names. It reads pages as it goes.
	List(ctx context.Context, prefix string) iter.Seq2[Entry, error]
	Writer
}

// Writer is what writes an archive.
type Writer interface {
	// Write writes an object that does not exist, reads it back from the store and compares. If it returns nil, the store has
	// exactly these bytes. It succeeds as well if the object exists with the same bytes, so that a caller can retry. The error is
	// ErrCorrupt if the store has other bytes or nothing. After any error the object may exist. After ErrPart, the caller must not write
	// the same name again: the store may delete the object at any time from then on.
	Write(ctx context.Context, name string, data []byte) error
	// Delete deletes an object. It succeeds if there is none. The error is ErrRefused if the store protects the object, for
	// example by object lock, or the credentials do not permit it.
	Delete(ctx context.Context, name string) error
}

// Entry is one object in a bucket.
type Entry struct {
	Name string
	Size int64 // in bytes
}

// Causes of errors, for errors.Is.
var (
	ErrNotFound  = errors.New("not found")
	ErrRefused   = errors.New("the store refuses to delete it")
	ErrCorrupt   = errors.New("not what was written")
	ErrPart      = errors.New("the store had only a part of it, which is being deleted")
	ErrEncrypted = errors.New("encrypted for other recipients")
	errNewer     = errors.New("written by a newer version")
)
