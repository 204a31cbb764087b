// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"
)

// partsAtOnce is how many parts of an index are in memory at the same time.
const partsAtOnce = 4

// FindEach calls visit with what Find returns, in any order: once for each index object, and at the end with the records that no index
// object has or whose versions have several records. Calls do not overlap. An error of visit ends the search and is returned. FindEach
// holds up to four parts, all index objects as they are in the store, 8 bytes for each record, and the metadata of the last call.
func (r *Reader) FindEach(ctx context.Context, q Query, visit func([]Meta) error) error {
	r = &Reader{Bucket: &cachedIndex{Bucket: r.Bucket, objects: map[string][]byte{}}, Identities: r.Identities, Skip: r.Skip}
	x, err := r.readAll(ctx, q, q.hasher())
	if err != nil {
		return err
	}
	later, err := r.search(ctx, x.uncovered, q) // these, and records of repeated versions
	if err != nil {
		return err
	}
	repeated, add := x.repeated(later), q.adder()
	var mu sync.Mutex
	var failed error // of visit
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for i, object := range x.objects {
		group.Go(func() error {
			part, err := r.readIndex(ctx, object, add)
			if err != nil { // readAll decodes less of each line
				if err = r.skip(object, err); err == nil {
					part.metas, err = r.search(ctx, x.coveredBy(i), q)
				}
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				return failed
			}
			metas := part.metas[:0]
			for _, m := range part.metas {
				switch {
				case x.from[m.Segment] != object: // another object has it too, or the segment no longer exists
				case repeated[m.hash()]:
					later = append(later, m)
				default:
					metas = append(metas, m)
				}
			}
			failed = visit(join(metas, x.finished))
			return failed
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return visit(join(later, x.finished))
}

// coveredBy returns the segments whose metadata come from an index object.
func (x index) coveredBy(i int) []string {
	return slices.DeleteFunc(slices.Clone(x.parts[i].segments), func(segment string) bool { return x.from[segment] != x.objects[i] })
}

var seed = maphash.MakeSeed()

func (v version) hash() uint64 { return maphash.Comparable(seed, v) }

func (m Meta) hash() uint64 { return version{m.UID, m.ResourceVersion}.hash() }

// hasher returns an adder of the hashes of the versions whose lines may match.
func (q Query) hasher() adder {
	f := q.filter()
	return func(part *indexPart, segment string, line []byte) error {
		if !f.passes(line) {
			return nil
		}
		var v version
		if err := jsonv2.Unmarshal(line, &v); err != nil {
			return err
		}
		if part.hashes == nil {
			part.hashes = map[string][]uint64{}
		}
		part.hashes[segment] = append(part.hashes[segment], v.hash())
		return nil
	}
}

// repeated returns the hashes of versions that have several records, and perhaps of a few others. more are not in the index.
func (x index) repeated(more []Meta) map[uint64]bool {
	var all []uint64
	once := map[string][]uint64{}
	for _, part := range x.parts {
		maps.Copy(once, part.hashes) // two objects may cover a segment
	}
	for _, hashes := range once {
		all = append(all, hashes...)
	}
	for _, m := range more {
		all = append(all, m.hash())
	}
	slices.Sort(all)
	repeated := map[uint64]bool{}
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			repeated[all[i]] = true
		}
	}
	return repeated
}

// cachedIndex reads each index object once from a Bucket: it may be replaced after that.
type cachedIndex struct {
	Bucket
	mu      sync.Mutex
	objects map[string][]byte
}

// Read implements Bucket.
func (b *cachedIndex) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	if !strings.HasPrefix(name, IndexPrefix) {
		return b.Bucket.Read(ctx, name)
	}
	b.mu.Lock()
	data, read := b.objects[name]
	b.mu.Unlock()
	if !read {
		in, err := b.Bucket.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		data, err = io.ReadAll(io.LimitReader(in, maxObject))
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, fmt.Errorf("read %q: %w", name, err)
		}
		b.mu.Lock()
		b.objects[name] = data
		b.mu.Unlock()
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}
