// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/archives"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// harness runs a Manager in a bubble. The test plays the API server, the stores and the reconciler: an object is deleted as soon as
// policy.Clear permits it.
type harness struct {
	*archives.Manager
	*testing.T
	server *server
	stores map[string]*bucket // by URL
	rules  []*policy.Rule
	cancel context.CancelFunc
	ended  chan struct{}
	stop   chan struct{} // closed when no more deletions are sent

	mu       sync.Mutex
	archives []v1alpha1.RetentionArchive
	statuses map[string]v1alpha1.ArchiveStatus
	subjects map[types.UID]*subject
	deleted  []string                          // names, in order
	cached   []v1alpha1.RetentionArchive       // what the cache has; nil for all changes
	unknown  map[string]any                    // fields of specs that this version does not know
	unlisted error                             // why RetentionArchives cannot be listed
	unlead   error                             // why this process does not lead
	skewed   error                             // why the clock may be wrong
	answer   func(*subject) *retention.Outcome // of a DELETE; nil for success
}

// retryAfter is when the reconciler retries what cannot be recorded.
const retryAfter = 5 * time.Second

// subject is an object that a rule deletes. It implements retention.Candidate.
type subject struct {
	*harness
	rule    *policy.Rule
	target  policy.Target
	outcome *retention.Outcome // of the last Record; nil if nothing was wrong
	ready   int
	gone    bool
}

var (
	jobs    = fixture.Jobs
	pods    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	secrets = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

// inBubble runs a test with a Manager and an archive "history" at mem://history.
func inBubble(t *testing.T, test func(h *harness), before ...func(*harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := &harness{
			T: t, server: newServer(), stores: map[string]*bucket{}, subjects: map[types.UID]*subject{}, statuses: map[string]v1alpha1.ArchiveStatus{},
		}
		h.addArchive("history")
		for _, b := range before {
			b(h)
		}
		h.begin()
		test(h)
		h.end()
	})
}

// begin starts a Manager, and end stops it. After that another one may begin.
func (h *harness) begin() {
	h.Manager = archives.New(archives.Options{
		Cache: cache{h}, Client: writer{h: h}, Live: h, Objects: h.server, Leadership: h, Clock: clock.RealClock{},
		Open: func(_ context.Context, url string, credentials map[string][]byte) (archives.Store, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.stores[url].as(credentials), nil
		},
	})
	ctx, cancel := context.WithCancel(log.IntoContext(h.Context(), logr.Discard()))
	m, ended := h.Manager, make(chan struct{})
	h.cancel, h.ended, h.stop = cancel, ended, make(chan struct{})
	m.Decider = archives.Decider{Expected: h.expected, Stopped: h.stop, Check: h.check}
	m.Use(policy.NewSnapshot(nil, nil, policy.DefaultProtection()))
	go func() {
		defer close(ended)
		_ = m.Start(ctx)
	}()
	bubble.Pass(20 * time.Millisecond)
}

func (h *harness) end() {
	h.cancel()
	close(h.stop)
	<-h.ended
	synctest.Wait()
}

// addArchive adds a RetentionArchive with a store of its own.
func (h *harness) addArchive(name string, change ...func(*v1alpha1.RetentionArchive)) *bucket {
	a := v1alpha1.RetentionArchive{}
	a.Name, a.UID, a.Generation, a.Spec.URL = name, types.UID("uid-"+name), 1, "mem://"+name
	for _, c := range change {
		c(&a)
	}
	b := newBucket()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.archives, h.stores[a.Spec.URL] = append(h.archives, a), b
	return b
}

// rule adds a rule that archives.
func (h *harness) rule(name string, change ...func(*policy.Rule)) *policy.Rule {
	r := fixture.Rule(name, fixture.Counted)
	r.Archive = &policy.Archive{To: "history"}
	for _, c := range change {
		c(r)
	}
	h.rules = append(h.rules, r)
	return r
}

// add adds objects that a rule deletes, and begins to record them.
func (h *harness) add(r *policy.Rule, names ...string) (all []*subject) {
	for _, name := range names {
		all = append(all, h.know(r, name))
	}
	for _, s := range all {
		s.attempt()
	}
	return all
}

// know adds an object that a rule deletes later.
func (h *harness) know(r *policy.Rule, name string) *subject {
	o := h.server.put(r.Kind, name, "")
	s := &subject{harness: h, rule: r, target: o.target()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subjects[s.target.UID] = s
	return s
}

// Intent implements retention.Candidate.
func (s *subject) Intent() (policy.Intent, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.intent(), !s.gone
}

func (s *subject) intent() policy.Intent {
	t := s.target
	return policy.Intent{
		Subject: policy.Subject{Namespace: t.Namespace, Name: t.Name, UID: t.UID, ResourceVersion: t.ResourceVersion}, Rule: s.rule, Reason: policy.Expired,
		Due: time.Now(),
	}
}

// Ready implements retention.Candidate.
func (s *subject) Ready() {
	s.mu.Lock()
	s.ready++
	s.mu.Unlock()
	go s.attempt()
}

// attempt plays the reconciler. It deletes the object if there is a Clearance.
func (s *subject) attempt() {
	i, ok := s.Intent()
	if !ok || s.Context().Err() != nil {
		return
	}
	receipt, ok := s.Lookup(i, s.target)
	if !ok {
		o := s.Record(i, s.target, s)
		s.mu.Lock()
		s.outcome = o
		s.mu.Unlock()
		if o != nil && o.Result == retention.Failed {
			s.Withdraw(i)
			time.AfterFunc(retryAfter, s.attempt)
		}
		return
	}
	if !receipt.Covers(s.target, s.rule) {
		s.Errorf("the receipt of %s is for %s", s.target, receipt.Target)
		return
	}
	s.delete(i, receipt)
}

// delete sends the DELETE. The record must be readable at this moment.
func (s *subject) delete(i policy.Intent, receipt policy.Receipt) {
	select {
	case <-s.stop:
		return
	default:
	}
	s.mu.Lock()
	if s.unlead != nil || s.gone {
		s.mu.Unlock()
		return
	}
	b := s.stores["mem://"+s.rule.Archive.To]
	if err := b.has(s.target, receipt); err != nil {
		s.Errorf("DELETE of %s without a readable record: %v", s.target, err)
	}
	o := retention.Outcome{Result: retention.Removed}
	if s.answer != nil {
		if other := s.answer(s); other != nil {
			o = *other
		}
	} else if !s.server.delete(s.target) {
		o = retention.Outcome{Result: retention.Changed, Err: errors.New("conflict")}
	}
	if o.Result == retention.Removed && !o.Unsure {
		s.gone = true
		s.deleted = append(s.deleted, s.target.Name)
	}
	s.mu.Unlock()
	s.Finish(i, s.target, o)
}

// expected plays Reconciler.Expected.
func (h *harness) expected(kind schema.GroupVersionKind, uid types.UID) (policy.Intent, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.subjects[uid]
	if s == nil || s.gone || s.rule.Kind != kind {
		return policy.Intent{}, false
	}
	return s.intent(), true
}

// Check implements archives.Options.Leadership.
func (h *harness) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unlead
}

// List implements client.Reader for RetentionArchives.
func (h *harness) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.list(h.archives, list)
}

// cache plays an informer, whose watch may be behind.
type cache struct{ *harness }

func (c cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cached != nil {
		return c.list(c.cached, list)
	}
	return c.list(c.archives, list)
}

func (h *harness) list(archives []v1alpha1.RetentionArchive, list client.ObjectList) error {
	into := list.(*unstructured.UnstructuredList)
	into.Items = nil
	for i := range archives {
		a := archives[i].DeepCopy()
		a.Status = *new(h.statuses[a.Name]).DeepCopy()
		o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
		if err != nil {
			return err
		}
		maps.Copy(o["spec"].(map[string]any), h.unknown)
		into.Items = append(into.Items, unstructured.Unstructured{Object: o})
	}
	return h.unlisted
}

// Get implements client.Reader for Secrets and the namespace kube-system.
func (h *harness) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		o.UID = "uid-cluster"
	case *corev1.Secret:
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.server.credentials == "" {
			return fmt.Errorf("secrets %q not found", key.Name)
		}
		o.Data = map[string][]byte{"key": []byte(h.server.credentials)}
	}
	return nil
}

// patch takes a status.
func (h *harness) patch(o client.Object, p client.Patch) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	a := v1alpha1.RetentionArchive{}
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.statuses[a.Name] = a.Status
	return nil
}

// condition is a condition of an archive as STATUS REASON.
func (h *harness) condition(name, of string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.statuses[name].Conditions {
		if c.Type == of {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// names are the names of the deleted objects in order of name.
func (h *harness) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.deleted))
}

// set changes something while nothing else happens.
func (h *harness) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// problem is the error of the last Record of a subject; empty if nothing was wrong.
func (s *subject) problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcome == nil {
		return ""
	}
	return s.outcome.Err.Error()
}

// results are the results of all records in a bucket, by name.
func (h *harness) results(b *bucket) map[string]archive.Result {
	all := map[string]archive.Result{}
	found, err := (&archive.Reader{Bucket: b}).Find(h.Context(), archive.Query{})
	if err != nil {
		h.Error(err)
	}
	for _, m := range found {
		all[m.Name] = m.Result
	}
	return all
}

// record reads the record of an object.
func (h *harness) record(b *bucket, name string) archive.Record {
	h.Helper()
	r := &archive.Reader{Bucket: b}
	found, err := r.Find(h.Context(), archive.Query{Name: name})
	if err != nil {
		h.Fatal(err)
	}
	for record, err := range r.Each(h.Context(), found[:min(1, len(found))]) {
		if err != nil {
			h.Fatal(err)
		}
		return record.Record
	}
	h.Fatalf("no record of %s", name)
	return archive.Record{}
}

func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s/%s-%04d", prefix, prefix, i))
	}
	return names
}

func baseNames(all []string) (names []string) {
	for _, name := range all {
		_, base, _ := strings.Cut(name, "/")
		names = append(names, base)
	}
	return names
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
