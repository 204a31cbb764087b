// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// Probe has the errors of the three operations; nil for each that works. An operation that depends on a failed one has
// its error.
type Probe struct{ Write, Read, Delete error }

// Probe writes an object below index/probe/, reads it back, lists it and deletes it: a store may permit segments and not the index. If
// the process ends before it is deleted, the object stays; it has a few bytes, and nothing reads it.
func (s *Store) Probe(ctx context.Context) Probe {
	name, data := archive.ProbePrefix+rand.Text(), []byte("This object tests whether the store can be used. You can delete it.\n")
	err := s.bucket.WriteAll(ctx, name, data, nil)
	if err != nil {
		err = fmt.Errorf("write object %q: %w", name, err)
		return Probe{Write: err, Read: err, Delete: err}
	}
	return Probe{Read: errors.Join(s.compare(ctx, name, data), s.lists(ctx, name)), Delete: s.Delete(ctx, name)}
}

// lists returns an error unless the store lists an object.
func (s *Store) lists(ctx context.Context, name string) error {
	for e, err := range s.List(ctx, name) {
		if err != nil || e.Name == name {
			return err
		}
	}
	return fmt.Errorf("object %q is written, and the store does not list it", name)
}
