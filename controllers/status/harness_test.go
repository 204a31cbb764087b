// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// rule returns an enforced rule about Jobs with a TTL of an hour.
func rule(name string, options ...func(*policy.Rule)) *policy.Rule {
	r := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: name}, PolicyUID: "uid-p", Key: name, Kind: fixture.Jobs, Mode: v1alpha1.Enforce, TTL: time.Hour}
	for _, o := range options {
		o(r)
	}
	return r
}

// policyOf returns policy p with these rules.
func policyOf(mode v1alpha1.Mode, rules ...*policy.Rule) *policy.Policy {
	p := &policy.Policy{Name: "p", UID: "uid-p", Generation: 3, Mode: mode, Namespaces: labels.Everything(), Rules: rules}
	for i, r := range rules {
		r.Mode, r.Index = mode, i
	}
	return p
}

func compiledOf(p ...*policy.Policy) policyset.CompiledSnapshot {
	known := map[string]policy.Namespace{"team-a": {}}
	waiting := map[types.UID]policy.ApprovalScope{}
	for _, p := range p {
		if p.Gate != nil {
			waiting[p.UID] = p.Gate.Namespaces
		}
	}
	return policyset.CompiledSnapshot{Snapshot: policy.NewSnapshot(p, known, policy.DefaultProtection()), Waiting: waiting}
}

// columns are the columns of every row, named like the rules.
var columns = index.NewColumns("a", "b")

// row returns a Job of team-a with facts for its columns.
func row(name string, start time.Time, facts ...policy.Facts) *index.FactRow {
	if facts == nil {
		facts = []policy.Facts{{Selected: true, Eligible: true, Start: start}}
	}
	subject := policy.Subject{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Created: start}
	return packed(subject, facts...)
}

func packed(s policy.Subject, facts ...policy.Facts) *index.FactRow {
	return index.NewFactRow(s, columns, facts...)
}

// named returns a policy of a snapshot.
func named(e policyset.CompiledSnapshot, name string) *policy.Policy {
	for _, p := range e.Snapshot.Policies() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func timeOf(t time.Time) metav1.Time { return metav1.Time{Time: t} }

// kindOf returns a listed kind.
func kindOf(e policyset.CompiledSnapshot, now time.Time, rows ...*index.FactRow) retention.KindState {
	x := index.New(fixture.Jobs.GroupKind(), func() {})
	x.SetSnapshot(e.Snapshot, now)
	x.Replace(index.Listing{ID: 1, Kind: fixture.Jobs, Layout: columns}, rows, now)
	return retention.KindState{Index: x, Kind: fixture.Jobs}
}

// viewOf returns what a status depends on at now: one listed kind with these rows, after a change; nil for no change.
func viewOf(e policyset.CompiledSnapshot, change func(*retention.KindState), rows ...*index.FactRow) status.View {
	kind := kindOf(e, now, rows...)
	if change != nil {
		change(&kind)
	}
	return status.View{Compiled: e, Kinds: []retention.KindState{kind}, Now: now}
}

// harness is a Reporter in a bubble. The test controls its reconciler, API server and Events.
type harness struct {
	*status.Reporter
	client.Client // the server; only Status is called
	t             *testing.T
	began         time.Time
	cancel        context.CancelFunc
	stopped       chan struct{}
	finished      chan struct{} // closed when nothing is deleted any more

	mu             sync.Mutex
	snapshot       *policy.Snapshot
	judging        map[*index.Index]*policy.Snapshot
	kinds          []retention.KindState
	preflightErr   error
	server         map[string]*v1alpha1.ClusterRetentionPolicy // also RetentionPolicies, which have the same status
	fail           error
	slow           func(name string) time.Duration // how long a write takes; nil for no time
	slowReads      time.Duration                   // how long a read of a policy takes
	writes         []time.Duration                 // when a status was written
	patches        int                             // including those that failed
	receivedEvents []string                        // Events
	raw            []*eventsv1.Event
	deaf           bool // it accepts no Events

	previewed    []policyset.Count
	previews     int           // calls of Previewed
	previewTakes time.Duration // each call
	ledgers      ledgerStates
	lines        []string // of the log
}

// ledgerStates are the ledgers of a test, by policy. They implement status.Ledgers.
type ledgerStates map[types.UID]ledgers.State

func (b ledgerStates) State(policy types.UID) (ledgers.State, bool) {
	s, ok := b[policy]
	return s, ok
}

func (ledgerStates) Recorded(types.UID) {}

func (ledgerStates) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// quiet sets the other dependencies of a Reporter. They have no errors, and nothing to report.
func quiet(r *status.Reporter) *status.Reporter {
	r.Clock, r.Leadership, r.DeletionError = clock.RealClock{}, leads{}, func() error { return nil }
	r.Warnings, r.Permissions = func(string) []policy.Problem { return nil }, mayAll{}.Known
	r.Cache = policyCache{}
	r.Nodes, r.NodeRules = &fleet{}, &fleet{}
	r.References, r.Referrers = references.New(clock.RealClock{}), states{}
	return r
}

// inBubble runs a test with a started Reporter.
func inBubble(t *testing.T, arrange func(w *harness), test func(t *testing.T, w *harness)) {
	synctest.Test(t, func(t *testing.T) {
		w := &harness{t: t, ledgers: ledgerStates{}, began: time.Now(), stopped: make(chan struct{}), server: map[string]*v1alpha1.ClusterRetentionPolicy{}, judging: map[*index.Index]*policy.Snapshot{}}
		w.Reporter = quiet(&status.Reporter{Client: w, Live: w, Events: w, State: w, Gates: w, Ledgers: w.ledgers})
		if arrange != nil {
			arrange(w)
		}
		w.start()
		test(t, w)
		w.stop()
	})
}

// runInBubble runs a subtest with a started Reporter.
func runInBubble(t *testing.T, name string, arrange func(w *harness), test func(t *testing.T, w *harness)) {
	t.Run(name, func(t *testing.T) { inBubble(t, arrange, test) })
}

func (w *harness) start() {
	ctx, cancel := context.WithCancel(log.IntoContext(w.t.Context(), funcr.New(w.logged, funcr.Options{})))
	w.cancel, w.stopped, w.finished = cancel, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(w.stopped)
		if err := w.Start(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	synctest.Wait()
}

// logged records a line of the log.
func (w *harness) logged(_, line string) {
	w.set(func() { w.lines = append(w.lines, line) })
}

// log returns the logged lines with a message.
func (w *harness) log(message string) (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if _, values, is := strings.Cut(line, fmt.Sprintf(`"msg"=%q `, message)); is {
			lines = append(lines, values)
		}
	}
	return lines
}

// stop stops everything. You may call it more than once.
func (w *harness) stop() {
	w.cancel()
	w.finish()
	<-w.stopped
}

// finish ends the reconciler.
func (w *harness) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.finished:
	default:
		close(w.finished)
	}
}

// Done implements status.State.
func (w *harness) Done() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.finished
}

// create stores a policy with a status on the server, and puts it in force together with others.
func (w *harness) create(p *policy.Policy, status v1alpha1.RetentionPolicyStatus, others ...*policy.Policy) policyset.CompiledSnapshot {
	e := compiledOf(append(others, p)...)
	w.store(p, status)
	w.Use(e)
	return e
}

// store stores a policy with a status on the server.
func (w *harness) store(p *policy.Policy, status v1alpha1.RetentionPolicyStatus) {
	known := &v1alpha1.ClusterRetentionPolicy{Status: status}
	known.Name, known.UID, known.Generation, known.ResourceVersion = p.Name, p.UID, p.Generation, "1"
	w.set(func() { w.server[p.Name] = known })
}

// nameOf returns the name of a policy; NAMESPACE/NAME for a RetentionPolicy.
func nameOf(key client.ObjectKey) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// Kinds implements status.State.
func (w *harness) Kinds() []retention.KindState {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.kinds {
		if w.judging[k.Index] != w.snapshot {
			k.Index.SetSnapshot(w.snapshot, time.Now())
			w.judging[k.Index] = w.snapshot
		}
	}
	return w.kinds
}

// Use passes the CompiledSnapshot to the Reporter, and its Snapshot to every kind, as the reconciler does.
func (w *harness) Use(e policyset.CompiledSnapshot) {
	w.set(func() { w.snapshot = e.Snapshot })
	w.Reporter.Use(e)
	w.CountSoon()
}

// Previewed implements status.Gates.
func (w *harness) Previewed(counts ...policyset.Count) {
	time.Sleep(w.previewTakes)
	w.set(func() { w.previewed, w.previews = append(w.previewed, counts...), w.previews+1 })
}

// PreflightError implements status.State.
func (w *harness) PreflightError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.preflightErr
}

// Get implements client.Reader.
func (w *harness) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	w.mu.Lock()
	slow := w.slowReads
	w.mu.Unlock()
	time.Sleep(slow)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	known := w.server[nameOf(key)]
	if known == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	switch into := into.(type) {
	case *v1alpha1.ClusterRetentionPolicy:
		known.DeepCopyInto(into)
	case *v1alpha1.RetentionPolicy:
		known.ObjectMeta.DeepCopyInto(&into.ObjectMeta)
		known.Status.DeepCopyInto(&into.Status)
	}
	return nil
}

// policyCache is a cache of unstructured policies.
type policyCache map[string]*v1alpha1.ClusterRetentionPolicy

// Get implements client.Reader.
func (c policyCache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	known := c[nameOf(key)]
	if known == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(known)
	into.(*unstructured.Unstructured).Object = object
	return err
}

// List implements client.Reader.
func (policyCache) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("policies are read by name")
}

// changed gives a policy a new resourceVersion.
func changed(p *v1alpha1.ClusterRetentionPolicy) {
	version, _ := strconv.Atoi(p.ResourceVersion)
	p.ResourceVersion = strconv.Itoa(version + 1)
}

// Status implements client.Client.
func (w *harness) Status() client.SubResourceWriter { return statuses{harness: w} }

type statuses struct {
	client.SubResourceWriter
	harness *harness
}

// Patch implements client.SubResourceWriter for server-side apply.
func (s statuses) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	w := s.harness
	if w.slow != nil {
		select {
		case <-time.After(w.slow(nameOf(client.ObjectKeyFromObject(object)))):
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.patches++
	if err := stdcmp.Or(ctx.Err(), w.fail); err != nil {
		return err
	}
	data, err := patch.Data(object)
	if err != nil || patch.Type() != types.ApplyPatchType {
		w.t.Errorf("patch of type %s: %v", patch.Type(), err)
	}
	applied := &v1alpha1.ClusterRetentionPolicy{} // or, with the same status, a RetentionPolicy
	if err := json.Unmarshal(data, applied); err != nil {
		w.t.Error(err)
	}
	if kind := reflect.TypeOf(object).Elem().Name(); applied.Kind != kind || nameOf(client.ObjectKeyFromObject(object)) != nameOf(client.ObjectKeyFromObject(applied)) {
		w.t.Errorf("%s %s is patched as %s %s/%s", kind, client.ObjectKeyFromObject(object), applied.Kind, applied.Namespace, applied.Name)
	}
	known := w.server[nameOf(client.ObjectKeyFromObject(object))]
	if known == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, object.GetName())
	}
	if known.UID != applied.UID {
		return apierrors.NewConflict(schema.GroupResource{}, object.GetName(), errors.New("another UID"))
	}
	if known.ResourceVersion != applied.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{}, object.GetName(), errors.New("another resourceVersion"))
	}
	known.Status = applied.Status
	changed(known)
	object.SetResourceVersion(known.ResourceVersion)
	w.writes = append(w.writes, time.Since(w.began))
	return nil
}

// Queue implements status.Events.
func (w *harness) Queue(e *eventsv1.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf {
		return false
	}
	said := fmt.Sprintf("%s %s/%s %s %s: %s", time.Since(w.began), e.Regarding.Kind, nameOf(client.ObjectKey{Namespace: e.Regarding.Namespace, Name: e.Regarding.Name}), e.Type, e.Reason, e.Note)
	if e.Related != nil {
		said += " by " + nameOf(client.ObjectKey{Namespace: e.Related.Namespace, Name: e.Related.Name})
	}
	w.receivedEvents = append(w.receivedEvents, said)
	w.raw = append(w.raw, e)
	return true
}

func (w *harness) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// status returns the status of policy p on the server.
func (w *harness) status() v1alpha1.RetentionPolicyStatus { return w.statusOf("p") }

func (w *harness) statusOf(name string) v1alpha1.RetentionPolicyStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.server[name].Status.DeepCopy()
}

func (w *harness) written() (writes []time.Duration) {
	w.set(func() { writes = slices.Clone(w.writes) })
	return writes
}

func (w *harness) events() (all []string) {
	w.set(func() { all = slices.Clone(w.receivedEvents) })
	return all
}

// removed reports deletions to the Reporter.
func (w *harness) removed(times int, r *policy.Rule) {
	for i := range times {
		w.Removed(retention.Removal{
			Kind: fixture.Jobs, Subject: policy.Subject{Namespace: "team-a", Name: fmt.Sprint("job-", i)}, Rule: r, Reason: policy.Expired, Due: time.Now(), At: time.Now(), InLedger: r.Ledger,
		})
	}
}

// condition returns one condition of a status as STATUS REASON.
func condition(s v1alpha1.RetentionPolicyStatus, name string) string {
	if c := meta.FindStatusCondition(s.Conditions, name); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// message returns the message of a condition.
func message(s v1alpha1.RetentionPolicyStatus, name string) string {
	if c := meta.FindStatusCondition(s.Conditions, name); c != nil {
		return c.Message
	}
	return ""
}
