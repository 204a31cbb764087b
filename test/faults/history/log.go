// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// State is an object as it was stored at one revision, which is its resourceVersion. It must not be changed.
type State struct {
	unstructured.Unstructured
	Key      string
	Revision int64
}

// Change is the effect of one revision on one object. Before is nil for a creation, After for a removal.
type Change struct {
	Revision      int64
	Key           string
	Before, After *State
}

// Gone reports whether the change removed the object.
func (c Change) Gone() bool { return c.After == nil }

// Ends reports whether this is the end of an object that was not terminating before: its removal, or the revision that set
// its deletionTimestamp.
func (c Change) Ends() bool {
	if c.Before == nil || c.Before.GetDeletionTimestamp() != nil {
		return false
	}
	return c.Gone() || c.After.GetDeletionTimestamp() != nil
}

// Log contains all states that were ever stored, in order.
type Log struct {
	Changes  []Change
	Revision int64 // the last one, which may not have changed an object here

	byKey  map[string][]int // indices of Changes
	byKind map[schema.GroupKind][]string
	byName map[string]string
	byUID  map[types.UID]string
	ends   map[types.UID]int
}

// NewLog returns an empty history. Tests or Etcd add to it.
func NewLog() *Log {
	return &Log{
		byKey: map[string][]int{}, byKind: map[schema.GroupKind][]string{},
		byName: map[string]string{}, byUID: map[types.UID]string{}, ends: map[types.UID]int{},
	}
}

var (
	protobuf    = []byte("k8s\x00")
	errProtobuf = errors.New("stored as protobuf; start API servers with --storage-media-type=application/json")
)

// Put records that an object was stored.
func (l *Log) Put(revision int64, key string, value []byte) error {
	after, err := stateOf(revision, key, value)
	if err != nil {
		return err
	}
	return l.add(Change{Revision: revision, Key: key, Before: l.last(key), After: after})
}

// stateOf decodes an object as it is stored.
func stateOf(revision int64, key string, value []byte) (*State, error) {
	if bytes.HasPrefix(value, protobuf) {
		return nil, fmt.Errorf("%s: %w", key, errProtobuf)
	}
	s := &State{Key: key, Revision: revision}
	if err := utiljson.Unmarshal(value, &s.Object); err != nil {
		return nil, fmt.Errorf("%s at revision %d: %w", key, revision, err)
	}
	s.SetResourceVersion(strconv.FormatInt(revision, 10))
	return s, nil
}

// Remove records that an object was removed.
func (l *Log) Remove(revision int64, key string) error {
	return l.add(Change{Revision: revision, Key: key, Before: l.last(key)})
}

func (l *Log) add(c Change) error {
	if n := len(l.Changes); n > 0 && l.Changes[n-1].Revision > c.Revision {
		return fmt.Errorf("revision %d came after %d", c.Revision, l.Changes[n-1].Revision)
	}
	n := len(l.Changes)
	l.Changes = append(l.Changes, c)
	l.Revision = max(l.Revision, c.Revision)
	if c.After != nil {
		l.index(c.After)
	}
	l.byKey[c.Key] = append(l.byKey[c.Key], n)
	if c.Ends() && c.Before.GetUID() != "" {
		l.ends[c.Before.GetUID()] = n
	}
	return nil
}

func (l *Log) index(s *State) {
	if _, known := l.byKey[s.Key]; !known {
		kind := s.GroupVersionKind().GroupKind()
		l.byKind[kind] = append(l.byKind[kind], s.Key)
	}
	l.byName[nameOf(resourceOf(s), s.GetNamespace(), s.GetName())] = s.Key
	if s.GetUID() != "" {
		l.byUID[s.GetUID()] = s.Key
	}
}

// Resource returns the plural name of an object's kind, from its key.
func Resource(s *State) string { return resourceOf(s) }

// resourceOf returns the path element before the namespace and name in the key: the resource, for all but a few kinds.
func resourceOf(s *State) string {
	above := path.Dir(s.Key)
	if s.GetNamespace() != "" {
		above = path.Dir(above)
	}
	return path.Base(above)
}

func nameOf(resource, namespace, name string) string { return path.Join(resource, namespace, name) }

// Key returns the key of an object of a resource, also of a removed one; empty if it never existed.
func (l *Log) Key(resource, namespace, name string) string {
	return l.byName[nameOf(resource, namespace, name)]
}

// KeyOf returns the key of the object with a UID, also of a removed one; empty if it never existed.
func (l *Log) KeyOf(uid types.UID) string { return l.byUID[uid] }

// Version returns the state of an object with a UID and a resourceVersion; nil if it never existed.
func (l *Log) Version(uid types.UID, resourceVersion string) *State {
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return nil
	}
	s := l.At(l.byUID[uid], revision)
	if s == nil || s.Revision != revision || s.GetUID() != uid {
		return nil
	}
	return s
}

func (l *Log) last(key string) *State {
	indices := l.byKey[key]
	if len(indices) == 0 {
		return nil
	}
	return l.Changes[indices[len(indices)-1]].After
}

// At returns the state of a key at a revision; nil for none.
func (l *Log) At(key string, revision int64) *State {
	indices := l.byKey[key]
	n := sort.Search(len(indices), func(i int) bool { return l.Changes[indices[i]].Revision > revision })
	if n == 0 {
		return nil
	}
	return l.Changes[indices[n-1]].After
}

// Of returns all changes of a key, in order.
func (l *Log) Of(key string) []Change {
	changes := make([]Change, 0, len(l.byKey[key]))
	for _, i := range l.byKey[key] {
		changes = append(changes, l.Changes[i])
	}
	return changes
}

// End returns the change that ended an object (Change.Ends); false if it has not ended.
func (l *Log) End(uid types.UID) (Change, bool) {
	i, ended := l.ends[uid]
	if !ended {
		return Change{}, false
	}
	return l.Changes[i], true
}

// Ends returns the ends of all objects, in order.
func (l *Log) Ends() []Change {
	return slices.DeleteFunc(slices.Clone(l.Changes), func(c Change) bool { return !c.Ends() })
}

// Kind returns all objects of a kind that existed at a revision, including terminating ones.
func (l *Log) Kind(kind schema.GroupKind, revision int64) []*State {
	var states []*State
	for _, key := range l.byKind[kind] {
		if s := l.At(key, revision); s != nil {
			states = append(states, s)
		}
	}
	return states
}

// Between returns the changes of a kind after one revision, up to and including another one.
func (l *Log) Between(kind schema.GroupKind, after, upTo int64) []Change {
	var changes []Change
	for _, key := range l.byKind[kind] {
		for _, c := range l.Of(key) {
			if c.Revision > after && c.Revision <= upTo {
				changes = append(changes, c)
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return int(a.Revision - b.Revision) })
	return changes
}

// Keys returns all keys under which objects of a kind were ever stored.
func (l *Log) Keys(kind schema.GroupKind) []string { return slices.Clone(l.byKind[kind]) }
