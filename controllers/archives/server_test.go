// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/archives"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// server is an API server. A request takes five milliseconds.
type server struct {
	mu          sync.Mutex
	objects     map[string]*object // by KIND NAMESPACE/NAME
	version     int
	requests    map[string]int // by verb and resource
	refuse      func(verb, kind, namespace string) error
	logs        map[string]string                       // by pod/container
	sent        int                                     // bytes of logs
	credentials string                                  // in the Secret of archives
	page        int                                     // objects in a page
	managed     string                                  // fields of the metadata of all objects
	hang        func(verb, kind, namespace string) bool // until the request is canceled
}

type object struct {
	kind                 schema.GroupVersionKind
	namespace, name      string
	uid, resourceVersion string
	owner                string
	more                 string // fields of the object after its metadata
	managed              string // fields of its metadata
	unlabelled           bool   // without the label of the Job controller
}

func newServer() *server {
	return &server{objects: map[string]*object{}, requests: map[string]int{}, logs: map[string]string{}, page: 500}
}

func (o *object) target() policy.Target {
	return policy.Target{Kind: o.kind, Namespace: o.namespace, Name: o.name, UID: types.UID(o.uid), ResourceVersion: o.resourceVersion}
}

// json is the object as GET sends it, or as an item of a list.
func (o *object) json(item bool) []byte {
	kind, owner, labels := "", "", ""
	if !item {
		apiVersion, name := o.kind.ToAPIVersionAndKind()
		kind = fmt.Sprintf(`"kind":%q,"apiVersion":%q,`, name, apiVersion)
	}
	if o.owner != "" {
		owner = fmt.Sprintf(`,"ownerReferences":[{"uid":%q,"kind":"Job","name":"x","apiVersion":"batch/v1"}]`, o.owner)
		labels = fmt.Sprintf(`,"labels":{"batch.kubernetes.io/controller-uid":%q}`, o.owner)
	}
	return fmt.Appendf(nil, `{%s"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":%q%s%s%s}%s}`,
		kind, o.namespace, o.name, o.uid, o.resourceVersion, owner, labels, o.managed, o.more)
}

func keyOf(kind schema.GroupVersionKind, namespace, name string) string {
	return kind.Kind + " " + namespace + "/" + name
}

// put creates an object, or changes it. Its name is NAMESPACE/NAME, or NAME in namespace a.
func (s *server) put(kind schema.GroupVersionKind, full, more string) *object {
	namespace, name, ok := strings.Cut(full, "/")
	if !ok {
		namespace, name = "a", full
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	key := keyOf(kind, namespace, name)
	o := &object{kind: kind, namespace: namespace, name: name, uid: "uid-" + key, more: more}
	if was := s.objects[key]; was != nil {
		*o = *was
		o.more = more
	} else if kind == jobs {
		o.more += fmt.Sprintf(`,"spec":{"selector":{"matchLabels":{"batch.kubernetes.io/controller-uid":%q}}}`, o.uid)
	}
	o.resourceVersion, o.managed = strconv.Itoa(s.version), s.managed
	s.objects[key] = o
	return o
}

// own makes an object a dependent of another.
func (s *server) own(o, owner *object) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.owner = owner.uid
	return o
}

// delete deletes exactly one version.
func (s *server) delete(t policy.Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(t.Kind, t.Namespace, t.Name)
	if o := s.objects[key]; o == nil || !o.target().Is(t) {
		return false
	}
	delete(s.objects, key)
	return true
}

func (s *server) ask(ctx context.Context, verb, kind, namespace string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
	}
	s.mu.Lock()
	hangs := s.hang != nil && s.hang(verb, kind, namespace)
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[verb+" "+kind]++
	if s.refuse != nil {
		return s.refuse(verb, kind, namespace)
	}
	return nil
}

// Get implements archives.Objects.
func (s *server) Get(ctx context.Context, t policy.Target) ([]byte, error) {
	if err := s.ask(ctx, "get", t.Kind.Kind, t.Namespace); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[keyOf(t.Kind, t.Namespace, t.Name)]
	if o == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: t.Kind.Kind}, t.Name)
	}
	return o.json(false), nil
}

// List implements archives.Objects. The token of a page is the name of the first object of the next.
func (s *server) List(ctx context.Context, q archives.Query, visit archives.Visit) (archives.Page, error) {
	if err := s.ask(ctx, "list", q.Kind.Kind, q.Namespace); err != nil {
		return archives.Page{}, err
	}
	s.mu.Lock()
	var all []*object
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		o := s.objects[key]
		if o.kind.GroupKind() == q.Kind.GroupKind() && (q.Namespace == "" || o.namespace == q.Namespace) && key >= q.Continue &&
			(q.Labels == "" || !o.unlabelled && o.owner != "" && strings.Contains(q.Labels, o.owner)) && (q.Fields == "" || strings.Contains(o.more, strings.TrimPrefix(q.Fields, "involvedObject.uid="))) {
			all = append(all, o)
		}
	}
	var p archives.Page
	if len(all) > s.page {
		next := all[s.page]
		p = archives.Page{Continue: keyOf(next.kind, next.namespace, next.name), Remaining: int64(len(all) - s.page)}
		all = all[:s.page]
	}
	s.mu.Unlock()
	for _, o := range all {
		if err := visit(o.kind, o.json(true)); err != nil {
			return archives.Page{}, err
		}
	}
	return p, nil
}

// Log implements archives.Objects.
func (s *server) Log(ctx context.Context, namespace, pod, container string, lines int64) (io.ReadCloser, error) {
	if err := s.ask(ctx, "log", pod, namespace); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.logs[pod+"/"+container]
	if s.objects[keyOf(pods, namespace, pod)] == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod)
	}
	if !ok {
		return nil, errors.New("the kubelet does not answer")
	}
	if all := strings.SplitAfter(text, "\n"); int64(len(all)) > lines+1 { // the last is empty, or has no newline
		text = strings.Join(all[int64(len(all))-1-lines:], "")
	}
	s.sent += len(text)
	return io.NopCloser(strings.NewReader(text)), nil
}

// count is the number of requests of a verb about a kind.
func (s *server) count(of string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[of]
}

// writer is the client that writes statuses.
type writer struct {
	client.Client // for the methods that are not called
	h             *harness
}

func (w writer) Status() client.SubResourceWriter { return statusWriter{h: w.h} }

type statusWriter struct {
	client.SubResourceWriter
	h *harness
}

func (w statusWriter) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return w.h.patch(o, p)
}

// bucket is a store in memory. A request takes ten milliseconds.
type bucket struct {
	mu      sync.Mutex
	data    map[string][]byte
	written []string // names in order
	slow    time.Duration
	// refuse is called for each request; done reports whether a write that fails has an effect, and lies whether the store then has
	// other bytes.
	refuse func(verb, name string) (err error, done bool)
	lies   bool
	poison string // name of an object: the store takes no segment that has its record
	wants  string // credentials; empty for any
	hidden error  // why it cannot be listed

	read       map[string]contents
	unreadable bool // it is encrypted, so that the test cannot read the records
	present    string
}

func newBucket() *bucket { return &bucket{data: map[string][]byte{}, read: map[string]contents{}} }

func (b *bucket) as(credentials map[string][]byte) *bucket {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.present = string(credentials["key"])
	return b
}

var (
	errDown   = errors.New("the store does not answer")
	errDenied = errors.New("AccessDenied")
)

func (b *bucket) ask(ctx context.Context, verb, name string) (err error, done bool) {
	b.mu.Lock()
	slow := b.slow
	b.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err(), false
	case <-time.After(10*time.Millisecond + slow):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wants != "" && b.present != b.wants {
		return errDenied, false
	}
	if b.refuse != nil {
		return b.refuse(verb, name)
	}
	return nil, true
}

// Write implements archive.Bucket.
func (b *bucket) Write(ctx context.Context, name string, data []byte) error {
	err, done := b.ask(ctx, "write", name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && !done {
		return err
	}
	if b.poison != "" && strings.HasPrefix(name, archive.SegmentPrefix) && objectsOf(name, data)[b.poison] {
		return errDenied
	}
	if was, ok := b.data[name]; ok && string(was) != string(data) {
		return fmt.Errorf("%s: %w", name, archive.ErrCorrupt)
	}
	if b.lies && strings.HasPrefix(name, archive.SegmentPrefix) {
		b.data[name] = []byte("other")
		return fmt.Errorf("%s: %w", name, archive.ErrCorrupt)
	}
	b.data[name] = slices.Clone(data)
	b.written = append(b.written, name)
	return err
}

// objectsOf returns the names of the objects in a segment.
func objectsOf(name string, data []byte) map[string]bool {
	only := newBucket()
	only.data[name] = data
	names := map[string]bool{}
	for f, err := range (&archive.Reader{Bucket: only}).Records(context.Background(), name) {
		if err == nil {
			names[f.Name] = true
		}
	}
	return names
}

// Read implements archive.Bucket.
func (b *bucket) Read(_ context.Context, name string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.data[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, archive.ErrNotFound)
	}
	return io.NopCloser(strings.NewReader(string(data))), nil
}

// List implements archive.Bucket.
func (b *bucket) List(_ context.Context, prefix string) iter.Seq2[archive.Entry, error] {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []archive.Entry
	for _, name := range slices.Sorted(maps.Keys(b.data)) {
		if strings.HasPrefix(name, prefix) {
			all = append(all, archive.Entry{Name: name, Size: int64(len(b.data[name]))})
		}
	}
	hidden := b.hidden
	return func(yield func(archive.Entry, error) bool) {
		if hidden != nil {
			yield(archive.Entry{}, hidden)
			return
		}
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Delete implements archive.Bucket.
func (b *bucket) Delete(ctx context.Context, name string) error {
	if err, _ := b.ask(ctx, "delete", name); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.data, name)
	return nil
}

// Probe implements archives.Store.
func (b *bucket) Probe(ctx context.Context) store.Probe {
	if err, _ := b.ask(ctx, "write", archive.ProbePrefix+"x"); err != nil {
		return store.Probe{Write: err, Read: err, Delete: err}
	}
	err, _ := b.ask(ctx, "delete", archive.ProbePrefix+"x")
	return store.Probe{Delete: err}
}

// Close implements archives.Store.
func (b *bucket) Close() error { return nil }

// has returns an error unless the bucket has the record that a receipt names, of exactly this version.
func (b *bucket) has(t policy.Target, receipt policy.Receipt) error {
	b.mu.Lock()
	data, known := b.data[receipt.Segment], b.read[receipt.Segment]
	b.mu.Unlock()
	if b.unreadable {
		return nil
	}
	if len(data) == 0 {
		return fmt.Errorf("%s does not exist", receipt.Segment)
	}
	if known.of != &data[0] { // read each segment once
		known = contents{of: &data[0]}
		for f, err := range (&archive.Reader{Bucket: b}).Records(context.Background(), receipt.Segment) {
			if err != nil {
				return err
			}
			text := ""
			if strings.Contains(string(f.Record.Object), fmt.Sprintf(`"uid":%q,"resourceVersion":%q`, f.UID, f.ResourceVersion)) {
				text = string(f.UID) + " " + f.ResourceVersion
			}
			known.lines = append(known.lines, text)
		}
		b.set(func() { b.read[receipt.Segment] = known })
	}
	if want := string(t.UID) + " " + t.ResourceVersion; receipt.Line >= len(known.lines) || known.lines[receipt.Line] != want {
		return fmt.Errorf("line %d of %s is not its record", receipt.Line, receipt.Segment)
	}
	return nil
}

// contents are the versions in the lines of a segment.
type contents struct {
	of    *byte
	lines []string
}

// segments are the names of the segments.
func (b *bucket) segments() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range b.written {
		if strings.HasPrefix(name, archive.SegmentPrefix) {
			names = append(names, name)
		}
	}
	return names
}

// set changes the fields below mu.
func (b *bucket) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}
