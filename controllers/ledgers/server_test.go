// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// server is an API server for ledgers and the statuses of policies. A request takes five milliseconds.
type server struct {
	client.Client // for the methods that are not called
	began         time.Time

	mu         sync.Mutex
	version    int
	ledgers    map[string]*v1alpha1.RetentionLedger
	newer      map[string]map[string]any // fields that a newer version has written into a ledger
	policies   map[types.UID]*v1alpha1.RetentionPolicyStatus
	unrecorded bool // statuses do not name their ledgers yet
	requests   []request
	// refuse is called for each request. If lost is true, the request is carried out and its answer is lost.
	refuse func(verb, name string) (err error, lost bool)
	// hangs returns how much longer a request takes, unless its context ends; nil for no extra time.
	hangs func(verb, name string) time.Duration
}

type request struct {
	verb, name string
	at         time.Duration
}

var (
	resource = v1alpha1.GroupVersion.WithResource("retentionledgers").GroupResource()
	errLost  = errors.New("no answer")
	errDown  = errors.New("down")
)

// ask records a request. do reports whether to carry it out.
func (s *server) ask(ctx context.Context, verb, name string) (err error, do bool) {
	time.Sleep(5 * time.Millisecond)
	if s.hangs != nil {
		select {
		case <-ctx.Done():
			return ctx.Err(), false
		case <-time.After(s.hangs(verb, name)):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request{verb, name, time.Since(s.began)})
	if s.refuse == nil {
		return nil, true
	}
	err, lost := s.refuse(verb, name)
	return err, err == nil || lost
}

// set changes the fields below mu.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) setRefuse(refuse func(verb, name string) (error, bool)) {
	s.set(func() { s.refuse = refuse })
}

// count returns the number of requests with a verb since a time.
func (s *server) count(verb string, since time.Duration) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.verb == verb && r.at >= since {
			n++
		}
	}
	return n
}

func (s *server) now() time.Duration { return time.Since(s.began) }

// most returns the largest number of requests with a verb within one second.
func (s *server) most(verb string) (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, first := range s.requests {
		n := 0
		for _, r := range s.requests {
			if r.verb == verb && r.at >= first.at && r.at < first.at+time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func (s *server) stored(name string) *v1alpha1.RetentionLedger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledgers[name].DeepCopy()
}

// edit changes a ledger as a user does; nil deletes it.
func (s *server) edit(name string, change func(*v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := change(s.ledgers[name].DeepCopy()); l != nil {
		s.put(l)
	} else {
		delete(s.ledgers, name)
	}
}

func (s *server) put(l *v1alpha1.RetentionLedger) {
	s.version++
	l.ResourceVersion = strconv.Itoa(s.version)
	s.ledgers[l.Name] = l.DeepCopy()
}

func (s *server) Update(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
	err, do := s.ask(ctx, "update", o.GetName())
	s.mu.Lock()
	defer s.mu.Unlock()
	l := o.(*v1alpha1.RetentionLedger)
	known := s.ledgers[l.Name]
	switch {
	case !do:
		return err
	case known == nil:
		return apierrors.NewNotFound(resource, l.Name)
	case known.ResourceVersion != l.ResourceVersion:
		return apierrors.NewConflict(resource, l.Name, errors.New("changed"))
	}
	s.put(l)
	return err
}

func (s *server) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	err, do := s.ask(ctx, "create", o.GetName())
	s.mu.Lock()
	defer s.mu.Unlock()
	l := o.(*v1alpha1.RetentionLedger)
	switch {
	case !do:
		return err
	case s.ledgers[l.Name] != nil:
		return apierrors.NewAlreadyExists(resource, l.Name)
	}
	l.UID = types.UID("ledger-" + l.Name)
	s.put(l)
	return err
}

func (s *server) Delete(ctx context.Context, o client.Object, _ ...client.DeleteOption) error {
	err, do := s.ask(ctx, "delete", o.GetName())
	if do {
		s.edit(o.GetName(), func(*v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { return nil })
	}
	return err
}

func (s *server) List(ctx context.Context, all client.ObjectList, _ ...client.ListOption) error {
	err, do := s.ask(ctx, "list", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !do {
		return err
	}
	list := all.(*unstructured.UnstructuredList)
	list.Items = nil
	for _, name := range slices.Sorted(maps.Keys(s.ledgers)) {
		list.Items = append(list.Items, *s.asStored(name))
	}
	return err
}

// asStored returns a ledger with the fields that a newer version has written.
func (s *server) asStored(name string) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.ledgers[name])
	if err != nil {
		panic(err)
	}
	maps.Copy(fields, s.newer[name])
	return &unstructured.Unstructured{Object: fields}
}

func (s *server) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	err, do := s.ask(ctx, "get", key.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !do {
		return err
	}
	switch o := o.(type) {
	case *unstructured.Unstructured:
		if s.ledgers[key.Name] == nil {
			return apierrors.NewNotFound(resource, key.Name)
		}
		o.Object = s.asStored(key.Name).Object
	case *v1alpha1.ClusterRetentionPolicy:
		status := s.policies[types.UID("uid-"+key.Name)]
		if status == nil {
			return apierrors.NewNotFound(resource, key.Name)
		}
		o.Name, o.UID, o.Status = key.Name, types.UID("uid-"+key.Name), *status.DeepCopy()
	}
	return err
}

// ledgerOf creates a ledger for a policy that another holder has written. It has open entries for these versions.
func (s *server) ledgerOf(name string, open ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &v1alpha1.RetentionLedger{Holder: "former", Policy: v1alpha1.LedgerPolicy{Kind: "ClusterRetentionPolicy", Name: name, UID: types.UID("uid-" + name)}}
	l.Name = "uid-" + name
	if len(open) > 0 {
		apiVersion, kind := fixture.Jobs.ToAPIVersionAndKind()
		l.Open = []v1alpha1.LedgerIntents{{Rule: "old", APIVersion: apiVersion, Kind: kind, Namespace: "team-a", Objects: open}}
	}
	s.put(l)
	if s.policies[types.UID("uid-"+name)] == nil {
		s.policies[types.UID("uid-"+name)] = &v1alpha1.RetentionPolicyStatus{}
	}
}

// limited permits n deletions in a minute.
func limited(n int64) *policy.Limits { return &policy.Limits{Max: n, Window: time.Minute} }
