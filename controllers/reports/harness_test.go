// SPDX-License-Identifier: Apache-2.0

package reports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/reports"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/report"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// harness is the API server of a Writer, and the state that it reads.
type harness struct {
	client.Client // only List, Patch and Delete are called
	*reports.Writer
	t        *testing.T
	clock    *clocktesting.FakeClock
	policies []*policy.Policy
	kinds    []retention.KindState
	ledgers  map[types.UID]ledgers.State
	snapshot *policy.Snapshot

	stored   map[string]openreports.Report // by NAMESPACE/NAME
	requests []string                      // writes since the last call of round
	leads    error
	unread   bool // the policies are not read yet
	lists    int
	listErr  error
	refuse   func(namespace string) error // of writes; nil accepts
}

func newHarness(t *testing.T) *harness {
	h := &harness{t: t, clock: clocktesting.NewFakeClock(fixture.Now), ledgers: map[types.UID]ledgers.State{}, stored: map[string]openreports.Report{}}
	h.restart()
	return h
}

// restart begins with a new process.
func (h *harness) restart() {
	h.Writer = reports.New(reports.Options{Client: h, Live: h, State: h, Ledgers: h, Leadership: h, Complete: h.isComplete, Clock: h.clock})
	if h.snapshot != nil {
		h.Use(h.snapshot)
	}
}

// about adds a policy with a rule about a kind: its objects are due an hour after they were created.
func (h *harness) about(name string, kind schema.GroupVersionKind) *policy.Policy {
	p := &policy.Policy{Name: name, UID: types.UID("uid-" + name), Mode: v1alpha1.Enforce, Namespaces: labels.Everything(), Created: fixture.Now.Add(-time.Hour)}
	p.Rules = []*policy.Rule{{
		ID: policy.RuleID{Policy: name, Rule: "r"}, PolicyUID: p.UID, Key: "key", Kind: kind, Mode: v1alpha1.Enforce, TTL: time.Hour,
	}}
	h.policies = append(h.policies, p)
	return p
}

var columns = index.NewColumns("key")

// due returns a row that is due after d.
func due(namespace, name string, d time.Duration) *index.FactRow {
	start := fixture.Now.Add(d - time.Hour)
	s := policy.Subject{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + name), ResourceVersion: "1", Created: start}
	return index.NewFactRow(s, columns, policy.Facts{Selected: true, Eligible: true, Start: start})
}

// set puts the policies in force, with these objects of each kind.
func (h *harness) set(objects map[schema.GroupVersionKind][]*index.FactRow) {
	known := map[string]policy.Namespace{}
	for n := range 200 {
		known[fmt.Sprintf("n%03d", n)] = policy.Namespace{}
	}
	h.snapshot = policy.NewSnapshot(h.policies, known, policy.Protection{})
	h.kinds = nil
	for kind, rows := range objects {
		x := index.New(kind.GroupKind(), func() {})
		x.SetSnapshot(h.snapshot, h.clock.Now())
		x.Replace(index.Listing{ID: 1, Kind: kind, Layout: columns}, rows, h.clock.Now())
		h.kinds = append(h.kinds, retention.KindState{Index: x, Kind: kind})
	}
	h.Use(h.snapshot)
}

// jobs puts the policies in force, with these Jobs.
func (h *harness) jobs(rows ...*index.FactRow) {
	h.set(map[schema.GroupVersionKind][]*index.FactRow{fixture.Jobs: rows})
}

// round makes a round a minute after the last one, and returns the writes in it.
func (h *harness) round() []string {
	h.t.Helper()
	h.requests = nil
	h.clock.Step(time.Minute)
	h.Round(h.t.Context())
	return h.requests
}

// wantRound makes a round and checks its writes.
func (h *harness) wantRound(what string, want ...string) {
	h.t.Helper()
	expect.Equal(h.t, what, want, h.round())
}

// results returns the results of a report as RESULT NAME.
func (h *harness) results(namespace, policyName string) (all []string) {
	for _, r := range h.stored[namespace+"/sunset-uid-"+policyName].Results {
		all = append(all, string(r.Result)+" "+r.Subjects[0].Name)
	}
	return all
}

// Kinds implements reports.State.
func (h *harness) Kinds() []retention.KindState { return h.kinds }

// State implements reports.Ledgers.
func (h *harness) State(uid types.UID) (ledgers.State, bool) {
	s, ok := h.ledgers[uid]
	return s, ok
}

func (h *harness) isComplete() bool { return !h.unread }

// Check implements Options.Leadership.
func (h *harness) Check() error { return h.leads }

// List implements client.Reader for the metadata of reports. It returns one report at a time.
func (h *harness) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	h.lists++
	if h.listErr != nil {
		return h.listErr
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	page := list.(*metav1.PartialObjectMetadataList)
	kind := page.GroupVersionKind()
	var keys []string
	for k, r := range h.stored {
		if r.Kind+"List" == kind.Kind && kind.Group == "openreports.io" && o.LabelSelector.Matches(labels.Set(r.Labels)) && k > o.Continue {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	page.Items, page.Continue = nil, ""
	if len(keys) > 0 {
		page.Items = []metav1.PartialObjectMetadata{{ObjectMeta: h.stored[keys[0]].ObjectMeta}}
	}
	if len(keys) > 1 {
		page.Continue = keys[0]
	}
	return nil
}

// write records a write, and returns why the server refuses it.
func (h *harness) write(verb string, object client.Object) error {
	if h.refuse != nil {
		if err := h.refuse(object.GetNamespace()); err != nil {
			h.requests = append(h.requests, "refused "+object.GetNamespace())
			return err
		}
	}
	h.requests = append(h.requests, verb+" "+object.GetNamespace()+"/"+object.GetName())
	return nil
}

// Patch implements client.Writer for server-side apply.
func (h *harness) Patch(_ context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := h.write("apply", object); err != nil {
		return err
	}
	o := (&client.PatchOptions{}).ApplyOptions(options)
	data, err := patch.Data(object)
	if err != nil || patch.Type() != types.ApplyPatchType || o.FieldManager == "" || o.Force == nil || !*o.Force {
		h.t.Errorf("patch of type %s with %+v: %v", patch.Type(), o, err)
	}
	var applied openreports.Report // a ClusterReport has the same fields
	expect.NoError(h.t, json.Unmarshal(data, &applied))
	if applied.Name != object.GetName() || applied.Namespace != object.GetNamespace() || applied.GroupVersionKind() != object.GetObjectKind().GroupVersionKind() {
		h.t.Errorf("%s applied to %s %s/%s", data, object.GetObjectKind().GroupVersionKind(), object.GetNamespace(), object.GetName())
	}
	applied.UID = types.UID("of-" + applied.Namespace + "/" + applied.Name)
	h.stored[applied.Namespace+"/"+applied.Name] = applied
	return nil
}

// Delete implements client.Writer.
func (h *harness) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	if err := h.write("delete", object); err != nil {
		return err
	}
	key := object.GetNamespace() + "/" + object.GetName()
	o := (&client.DeleteOptions{}).ApplyOptions(options)
	if o.Preconditions == nil || o.Preconditions.UID == nil || *o.Preconditions.UID != h.stored[key].UID {
		h.t.Errorf("delete of %s with preconditions %+v", key, o.Preconditions)
	}
	if _, exists := h.stored[key]; !exists {
		return apierrors.NewNotFound(schema.GroupResource{Group: report.Reports.Group, Resource: "reports"}, object.GetName())
	}
	delete(h.stored, key)
	return nil
}
