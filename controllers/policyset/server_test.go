// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// now is the time at the start of every test.
var now = fixture.Now

const (
	apiPath        = "/apis/sunset-k8s.io/v1alpha1"
	namespacesPath = "/api/v1/namespaces"
)

// state is the content of an API server, or of a cache of it. It is never changed in place.
type state struct {
	policies   map[string]*unstructured.Unstructured // by NAMESPACE/NAME or NAME
	approvals  map[string]*unstructured.Unstructured // by NAMESPACE/NAME or NAME
	namespaces map[string]metav1.PartialObjectMetadata
	quotas     map[string]corev1.ResourceQuota // by NAMESPACE/NAME
}

func (s state) clone() state {
	c := state{map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}, map[string]metav1.PartialObjectMetadata{}, map[string]corev1.ResourceQuota{}}
	for name, p := range s.policies {
		c.policies[name] = p.DeepCopy()
	}
	for name, a := range s.approvals {
		c.approvals[name] = a.DeepCopy()
	}
	for name, n := range s.namespaces {
		c.namespaces[name] = *n.DeepCopy()
	}
	maps.Copy(c.quotas, s.quotas)
	return c
}

// server is an API server without a socket, with the cache of a watch, which sync updates.
type server struct {
	clock *clocktesting.FakeClock

	mu       sync.Mutex
	live     state
	version  int
	requests []string
	skewed   time.Duration                     // how far its clock is ahead
	dates    func() time.Time                  // its clock
	dateless bool                              // its responses have no Date
	fail     func(string) error                // the error of a request; nil for a response
	takes    func(path string) time.Duration   // how long a response takes after the state was read
	said     func(path string, answer any) any // replaces a response; nil for the true one
	cache    state

	hook   sync.Mutex        // held by during
	during func(path string) // runs while a request is answered, after the state was read
}

func newServer() *server {
	s := &server{clock: clocktesting.NewFakeClock(now), live: state{}.clone()}
	s.dates = s.clock.Now
	s.cache = s.live.clone()
	for _, name := range []string{"team-a", "team-b"} {
		s.namespace(name, nil)
	}
	return s
}

// set makes a change that is safe for concurrent use.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) next() string {
	s.version++
	return fmt.Sprint(100 + s.version)
}

// policy creates or replaces a policy, of a namespace if the name is NAMESPACE/NAME. The generation increases unless the policy
// is new.
func (s *server) policy(name, spec string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parsed any
	if err := yaml.Unmarshal([]byte(spec), &parsed); err != nil {
		panic(err)
	}
	p := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "sunset-k8s.io/v1alpha1", "kind": "ClusterRetentionPolicy"}}
	p.SetName(name)
	if namespace, own, ok := strings.Cut(name, "/"); ok {
		p.SetKind("RetentionPolicy")
		p.SetNamespace(namespace)
		p.SetName(own)
	}
	p.SetUID(types.UID("uid-" + s.next()))
	if old := s.live.policies[name]; old != nil {
		p = old.DeepCopy()
	}
	p.SetGeneration(p.GetGeneration() + 1)
	p.SetResourceVersion(s.next())
	p.Object["spec"] = parsed
	s.live.policies[name] = p
}

// edit changes a policy without its spec: the generation stays.
func (s *server) edit(name string, change func(p *unstructured.Unstructured)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.live.policies[name])
	s.live.policies[name].SetResourceVersion(s.next())
}

// approve creates an approval of a policy.
func (s *server) approve(name, hash string) { s.approveWith(name, map[string]any{"hash": hash}) }

// approveWith creates an approval of a policy with more fields.
func (s *server) approveWith(name string, spec map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.live.policies[name]
	a := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "sunset-k8s.io/v1alpha1", "kind": "ClusterRetentionApproval"}}
	if p.GetNamespace() != "" {
		a.SetKind("RetentionApproval")
		a.SetNamespace(p.GetNamespace())
	}
	a.SetName("approval-" + s.next())
	a.SetUID(types.UID("uid-" + s.next()))
	a.SetResourceVersion(s.next())
	a.Object["spec"] = map[string]any{"policy": map[string]any{"name": p.GetName(), "uid": string(p.GetUID())}, "objects": int64(1)}
	maps.Copy(a.Object["spec"].(map[string]any), spec)
	s.live.approvals[strings.TrimPrefix(a.GetNamespace()+"/"+a.GetName(), "/")] = a
}

// withdraw deletes all approvals.
func (s *server) withdraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
	clear(s.live.approvals)
}

// report writes the status of a policy.
func (s *server) report(name string, status v1alpha1.RetentionPolicyStatus) {
	s.edit(name, func(p *unstructured.Unstructured) {
		if len(status.Previews) > 0 && status.ObservedGeneration == 0 {
			status.ObservedGeneration = p.GetGeneration()
		}
		written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
		if err != nil {
			panic(err)
		}
		p.Object["status"] = written
	})
}

func (s *server) removePolicy(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
	delete(s.live.policies, name)
}

func (s *server) namespace(name string, labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.live.namespaces[name]
	if n.UID == "" {
		n.Name, n.UID = name, types.UID("uid-"+s.next())
	}
	n.Labels, n.ResourceVersion = labels, s.next()
	s.live.namespaces[name] = n
}

// hold sets the hold annotation of a namespace; the empty value removes it.
func (s *server) hold(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.live.namespaces[name]
	n.Annotations = nil
	if value != "" {
		n.Annotations = map[string]string{v1alpha1.HoldAnnotation: value}
	}
	n.ResourceVersion = s.next()
	s.live.namespaces[name] = n
}

// quota creates or replaces a ResourceQuota by NAMESPACE/NAME.
func (s *server) quota(name string, spec corev1.ResourceQuotaSpec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace, own, _ := strings.Cut(name, "/")
	s.next()
	s.live.quotas[name] = corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: own}, Spec: spec}
}

func (s *server) removeQuota(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
	delete(s.live.quotas, name)
}

func (s *server) terminate(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.live.namespaces[name]
	n.DeletionTimestamp, n.ResourceVersion = &metav1.Time{Time: now}, s.next()
	s.live.namespaces[name] = n
}

func (s *server) removeNamespace(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
	delete(s.live.namespaces, name)
}

// sync updates the cache.
func (s *server) sync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache = s.live.clone()
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.requests = append(s.requests, r.URL.Path)
	live, version, fail, takes, said := s.live.clone(), s.version, s.fail, s.takes, s.said
	date := s.dates().Add(s.skewed).UTC().Format(http.TimeFormat)
	if s.dateless {
		date = ""
	}
	s.mu.Unlock()
	s.happen(r.URL.Path)
	if takes != nil {
		time.Sleep(takes(r.URL.Path))
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
	}
	if fail != nil {
		switch err := fail(r.URL.Path).(type) {
		case nil:
		case statusError:
			return dated(date, answer.Status(int(err)))
		default:
			return nil, err
		}
	}
	body := live.answer(r.URL.Path, fmt.Sprint(100+version))
	if said != nil {
		body = said(r.URL.Path, body)
	}
	switch body := body.(type) {
	case nil:
		return dated(date, notFound(r.URL.Path))
	case string:
		return dated(date, answer.Text(http.StatusOK, body))
	default:
		return dated(date, answer.JSON(http.StatusOK, body))
	}
}

func dated(date string, r *http.Response) (*http.Response, error) {
	r.Header.Set("Date", date)
	return r, nil
}

func (s *server) happen(path string) {
	s.hook.Lock()
	defer s.hook.Unlock()
	if s.during != nil {
		s.during(path)
	}
}

// statusError is a response with a status code.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// notFound is the response of an API server that serves a kind and has no object of the name.
func notFound(at string) *http.Response {
	err := apierrors.NewNotFound(schema.GroupResource{}, path.Base(at))
	err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return answer.JSON(http.StatusNotFound, err.ErrStatus)
}

func (s state) answer(path, version string) any {
	items := []any{}
	own, isOwn := strings.CutPrefix(path, apiPath+"/namespaces/")
	name, isPolicy := strings.CutPrefix(path, apiPath+"/clusterretentionpolicies/")
	approval, isApproval := strings.CutPrefix(path, apiPath+"/clusterretentionapprovals/")
	namespace, isQuotas := strings.CutSuffix(path, "/resourcequotas")
	switch {
	case path == apiPath+"/clusterretentionpolicies":
		items = s.metadata("ClusterRetentionPolicy")
	case path == apiPath+"/retentionpolicies":
		items = s.metadata("RetentionPolicy")
	case path == apiPath+"/clusterretentionapprovals":
		items = s.metadata("ClusterRetentionApproval")
	case path == apiPath+"/retentionapprovals":
		items = s.metadata("RetentionApproval")
	case path == namespacesPath:
		for _, n := range s.namespaces {
			items = append(items, n)
		}
	case isQuotas:
		for _, q := range s.quotas {
			if namespace == "/api/v1" || namespace == namespacesPath+"/"+q.Namespace {
				items = append(items, q)
			}
		}
	case isPolicy, isOwn:
		if isOwn {
			name = strings.Replace(own, "/retentionpolicies/", "/", 1)
		}
		if p := s.policies[name]; p != nil {
			return p.Object
		}
		if a := s.approvals[strings.Replace(own, "/retentionapprovals/", "/", 1)]; isOwn && a != nil {
			return a.Object
		}
		return nil
	case isApproval:
		if a := s.approvals[approval]; a != nil {
			return a.Object
		}
		return nil
	default:
		if n, ok := s.namespaces[strings.TrimPrefix(path, namespacesPath+"/")]; ok {
			return n
		}
		return nil
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": version}, "items": items}
}

// metadata returns that of all policies or approvals of a kind.
func (s state) metadata(kind string) []any {
	items := []any{}
	for _, p := range s.of(kind) {
		items = append(items, p.Object) // also if only metadata was requested
	}
	return items
}

func (s state) of(kind string) (all []unstructured.Unstructured) {
	for _, objects := range []map[string]*unstructured.Unstructured{s.policies, s.approvals} {
		for _, o := range objects {
			if o.GetKind() == kind {
				all = append(all, *o)
			}
		}
	}
	return all
}

// List implements client.Reader. It returns the content of the cache.
func (s *server) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cache := s.cache.clone()
	switch l := list.(type) {
	case *unstructured.UnstructuredList:
		l.Items = cache.of(l.GetKind())
	case *metav1.PartialObjectMetadataList:
		for _, n := range cache.namespaces {
			l.Items = append(l.Items, n)
		}
	}
	return nil
}

// Get implements client.Reader.
func (s *server) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the reconciler must not get single objects")
}

// asked returns the number of requests for each path, and resets it.
func (s *server) asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, path := range s.requests {
		counts[strings.TrimPrefix(strings.TrimPrefix(path, apiPath+"/"), "/api/v1/")]++
	}
	s.requests = nil
	return counts
}
