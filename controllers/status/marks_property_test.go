// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const (
	markTTL = 2 * time.Minute
	// settles is the minimum time that a leader has to write down a use that it has observed, on the object or in the status,
	// before it may be killed.
	settles = 10 * time.Second
)

// marking is a cluster with the objects of a rule without startTime, and with a sequence of leaders.
type marking struct {
	t        *testing.T
	r        *rand.Rand
	objects  []*thing
	version  int
	specs    map[string]string // specs of policies, by NAMESPACE/NAME
	versions map[string]int
	server   map[string]*v1alpha1.ClusterRetentionPolicy
	failing  map[string]bool      // namespaces where every PATCH fails
	mute     bool                 // every write of a status fails
	spoke    time.Time            // since when writes of statuses succeed
	blocked  map[string]time.Time // since when the rule may not write to objects, by namespace
	leader   *leading
	compiler *engine.Compiler
	log      []string

	deleted, trusted int // trusted: by a mark that is older than the leader
}

// thing is one object.
type thing struct {
	namespace string
	uid       types.UID
	used      bool
	version   int
	mark      time.Time
	key       string // of the mark
	// seen is until when some leader has certainly observed the object in use. pending is the same for a leader that may not
	// have recorded it yet.
	seen, pending, at time.Time
}

// leading is one leader with its policyset reconciler, Reporter and index.
type leading struct {
	*harness
	loop     *policyset.Reconciler
	index    *index.Index
	snapshot *policy.Snapshot
	began    time.Time
}

// TestMarksNeverOutliveObservedUse simulates random changes of use, suspensions, failures and restarts. No object may be
// deleted before its TTL has passed since a leader last observed it in use.
func TestMarksNeverOutliveObservedUse(t *testing.T) {
	compiler := fixture.Compiler(t)
	deleted, trusted := 0, 0
	for seed := range int64(70) {
		synctest.Test(t, func(t *testing.T) {
			m := newMarking(t, compiler, seed)
			for i := 0; i < 100 && !t.Failed(); i++ {
				m.step()
			}
			m.stop(true)
			deleted, trusted = deleted+m.deleted, trusted+m.trusted
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d objects were deleted, %d of them by marks from before the leader", deleted, trusted)
	if deleted < 50 || trusted < 20 {
		t.Error("too few objects were deleted for a result")
	}
}

func newMarking(t *testing.T, compiler *engine.Compiler, seed int64) *marking {
	m := &marking{
		t: t, compiler: compiler, r: rand.New(rand.NewSource(seed)), server: map[string]*v1alpha1.ClusterRetentionPolicy{},
		specs: map[string]string{}, versions: map[string]int{}, failing: map[string]bool{}, blocked: map[string]time.Time{},
	}
	for i := range 3 {
		m.objects = append(m.objects, &thing{namespace: []string{"team-a", "team-b"}[i%2], uid: types.UID(fmt.Sprint(i))})
	}
	m.specs["p"], m.specs["team-a/own"] = markSpec("Enforce"), suspendSpec(false)
	for name := range m.specs {
		p := &v1alpha1.ClusterRetentionPolicy{}
		p.Namespace, p.Name = "", name
		p.UID, p.Generation = types.UID("uid-"+name), 1
		m.server[name] = p
	}
	m.start()
	return m
}

func markSpec(mode string) string {
	return fmt.Sprintf(`{mode: %s, rules: [{name: r, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", ttl: %s, overrideBounds: {allowSuspend: true}}]}`,
		mode, markTTL)
}

func suspendSpec(suspend bool) string {
	return fmt.Sprintf(`{mode: Enforce, overrides: [{policy: p, suspend: %t}]}`, suspend)
}

// step makes one random change, and checks everything.
func (m *marking) step() {
	o := m.objects[m.r.Intn(len(m.objects))]
	switch n := m.r.Intn(100); {
	case n < 30:
		m.say("use of %s", o.uid)
		m.flip(o)
	case n < 36:
		m.failing[o.namespace] = !m.failing[o.namespace]
		m.say("PATCHes in %s fail: %t", o.namespace, m.failing[o.namespace])
	case n < 40:
		m.mute = !m.mute
		m.spoke = time.Now()
		m.say("statuses cannot be written: %t", m.mute)
		m.leader.set(func() { m.leader.fail = nil })
		if m.mute {
			m.leader.set(func() { m.leader.fail = errors.New("mute") })
		}
	case n < 48:
		m.edit("team-a/own", suspendSpec(m.specs["team-a/own"] == suspendSpec(false)))
	case n < 53:
		m.edit("p", markSpec([]string{"Enforce", "Suspend", "Enforce", "DryRun"}[m.r.Intn(4)]))
	case n < 60:
		m.stop(false)
		m.start()
	case n < 65:
		m.stop(true)
		m.start()
	case n < 80:
		m.pass(time.Duration(m.r.Intn(20)) * time.Second)
	default:
		m.pass(time.Duration(m.r.Intn(100)) * time.Second)
	}
	m.look()
}

func (m *marking) say(what string, args ...any) {
	m.log = append(m.log, time.Now().Format(time.TimeOnly)+" "+fmt.Sprintf(what, args...))
}

func (m *marking) pass(d time.Duration) {
	m.say("%s pass", d)
	bubble.Pass(d)
}

// flip starts or ends the use of an object, and the leader observes that.
func (m *marking) flip(o *thing) {
	o.used = !o.used
	m.change(o)
	o.pending = time.Now()
	if o.used {
		o.at = time.Now()
	}
	m.leader.index.Apply(1, m.row(o), time.Now())
	synctest.Wait()
}

func (m *marking) change(o *thing) {
	m.version++
	o.version = m.version
}

// row returns an object as the leader observes it.
func (m *marking) row(o *thing) *index.FactRow {
	subject := policy.Subject{Namespace: o.namespace, Name: string(o.uid), UID: o.uid, ResourceVersion: fmt.Sprint(o.version), Created: time.Now().Add(-1000 * time.Hour)}
	facts := policy.Facts{Selected: true, Eligible: !o.used, Marked: true}
	if r := m.leader.rule(); o.key == r.Mark {
		facts.Start = o.mark
	}
	return index.NewFactRow(subject, m.leader.layout(), facts)
}

func (l *leading) rule() *policy.Rule { return l.snapshot.Rule(policy.RuleID{Policy: "p", Rule: "r"}) }

func (l *leading) layout() *index.Columns { return index.NewColumns(l.rule().Key) }

// settle determines which uses the leader must have recorded. These are uses that it observed some time ago, while statuses
// could be written. They include uses that it observed after the status had shown for some time that it could not write to the
// object.
func (m *marking) settle(clean bool) {
	for _, o := range m.objects {
		if o.pending.IsZero() {
			continue
		}
		since := func(t time.Time) bool { return !t.IsZero() && time.Since(t) >= settles }
		warned := since(m.blocked[o.namespace]) && since(m.leader.began) // that the object could not be written
		told := !m.mute && since(m.spoke) && (since(o.pending) || warned)
		if clean && !m.mute || told {
			o.seen = o.until()
		}
		o.pending = time.Time{}
	}
}

// until returns until when the leader has observed an object in use.
func (o *thing) until() time.Time {
	if o.used {
		return time.Now()
	}
	return o.pending
}

// look lets the leader mark objects as allowed, and delete due objects.
func (m *marking) look() {
	now := time.Now()
	for _, o := range m.objects {
		j, ok := m.leader.index.Claim(o.uid, now)
		switch {
		case !ok:
		case j.Permit.Valid():
			m.remove(o, j)
		case j.Marking.Valid() && !m.failing[o.namespace]:
			m.say("marks %s %s", o.uid, j.Marking.Annotation())
			key := m.leader.rule().Mark
			o.key, o.mark = key, policy.ParseMarks(j.Marking.Annotation())[key]
			m.change(o)
			m.leader.index.Apply(1, m.row(o), now)
		}
		m.leader.index.Reconsider(o.uid, now)
	}
	synctest.Wait()
}

// remove checks a deletion, and replaces the object by a new one.
func (m *marking) remove(o *thing, j index.Decision) {
	last := o.seen
	if !o.pending.IsZero() && o.pending.After(last) {
		last = o.pending // this leader has observed it
	}
	if time.Since(last) < markTTL || o.used {
		m.t.Errorf("%s is deleted %s after it was in use (in use: %t)\n%s", o.uid, time.Since(last), o.used, strings.Join(m.log, "\n"))
	}
	m.deleted++
	if j.Verdict.Start.Before(m.leader.began) {
		m.trusted++
	}
	m.say("deletes %s", o.uid)
	m.leader.index.Forget(1, o.uid, time.Now())
	m.version++
	*o = thing{namespace: o.namespace, uid: types.UID(fmt.Sprint("n", m.version)), version: m.version}
	m.leader.index.Apply(1, m.row(o), time.Now())
}

// edit changes the spec of a policy, and the leader observes that.
func (m *marking) edit(name, spec string) {
	m.say("%s is %s", name, spec)
	m.specs[name] = spec
	m.versions[name]++
	m.server[name].Generation++
	for _, namespace := range []string{"team-a", "team-b"} {
		switch may := m.specs["p"] == markSpec("Enforce") && (namespace == "team-b" || m.specs["team-a/own"] == suspendSpec(false)); {
		case may:
			delete(m.blocked, namespace)
		case m.blocked[namespace].IsZero():
			m.blocked[namespace] = time.Now()
		}
	}
	m.leader.reconcile(m.t)
}

func (l *leading) reconcile(t *testing.T) {
	if _, err := l.loop.Reconcile(log.IntoContext(t.Context(), logr.Discard()), reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// start starts a new process.
func (m *marking) start() {
	m.say("a leader starts")
	l := &leading{harness: &harness{t: m.t, ledgers: ledgerStates{}, server: m.server, judging: map[*index.Index]*policy.Snapshot{}}, began: time.Now()}
	l.index = index.New(schema.GroupKind{Group: "batch", Kind: "Job"}, func() {})
	m.leader = l
	l.loop = &policyset.Reconciler{
		Cache: m, Compiler: m.compiler, Protection: policy.DefaultProtection(), Clock: clock.RealClock{}, Leadership: leads{}, Permissions: mayAll{},
		Subscribers: []func(policyset.CompiledSnapshot){func(e policyset.CompiledSnapshot) {
			l.snapshot = e.Snapshot
			l.Use(e)
			l.index.SetSnapshot(e.Snapshot, time.Now())
		}},
	}
	var err error
	l.loop.Live, err = rest.UnversionedRESTClientFor(&rest.Config{
		Host: "http://live", QPS: -1, Transport: m, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	expect.NoError(m.t, err)
	l.Reporter = quiet(&status.Reporter{Client: l, Live: l, Events: l, State: l, Gates: l.loop, Ledgers: l.ledgers})
	l.kinds = []retention.KindState{{Index: l.index, Kind: fixture.Jobs}}
	if m.mute {
		l.fail = errors.New("mute")
	}
	l.reconcile(m.t)
	l.harness.start()
	m.pass(time.Duration(m.r.Intn(2)) * 3 * time.Second) // some leaders are killed before they have listed objects
	if m.r.Intn(5) == 0 {
		m.stop(false)
		m.start()
		return
	}
	var rows []*index.FactRow
	for _, o := range m.objects {
		rows = append(rows, m.row(o))
		if o.used {
			o.pending = time.Now()
		}
	}
	l.index.Replace(index.Listing{ID: 1, Kind: fixture.Jobs, Layout: l.layout()}, rows, time.Now())
	synctest.Wait()
}

// stop stops the leader: with the last writes (clean), or without them.
func (m *marking) stop(clean bool) {
	m.say("the leader stops, cleanly: %t", clean)
	m.settle(clean)
	if !clean {
		m.leader.set(func() { m.leader.fail = errors.New("killed") })
	}
	m.leader.stop()
	bubble.Pass(time.Duration(m.r.Intn(20)) * time.Second)
}

type leads struct{}

func (leads) Check() error { return nil }

type mayAll struct{}

func (mayAll) Check(context.Context, *policy.Rule) (time.Time, error) { return time.Now(), nil }
func (mayAll) CheckOwner(context.Context, *policy.Rule, schema.GroupVersionKind) (time.Time, error) {
	return time.Now(), nil
}
func (mayAll) Known(*policy.Rule) (error, bool)                 { return nil, true }
func (mayAll) Allowed(*policy.Rule) bool                        { return true }
func (mayAll) Preferred(r *policy.Rule) schema.GroupVersionKind { return r.Kind }

// policies returns all policies of one kind as the API server has them.
func (m *marking) policies(kind string) (all []unstructured.Unstructured) {
	for name, spec := range m.specs {
		u := unstructured.Unstructured{Object: map[string]any{"apiVersion": "sunset-k8s.io/v1alpha1", "kind": "ClusterRetentionPolicy"}}
		u.SetName(name)
		if namespace, own, ok := strings.Cut(name, "/"); ok {
			u.SetKind("RetentionPolicy")
			u.SetNamespace(namespace)
			u.SetName(own)
		}
		if u.GetKind() != kind {
			continue
		}
		u.SetUID(types.UID("uid-" + name))
		u.SetGeneration(m.server[name].Generation)
		u.SetResourceVersion(fmt.Sprint(1000 + m.versions[name]))
		var parsed map[string]any
		expect.NoError(m.t, yaml.Unmarshal([]byte(spec), &parsed))
		u.Object["spec"] = parsed
		status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&m.server[name].Status)
		expect.NoError(m.t, err)
		u.Object["status"] = status
		all = append(all, u)
	}
	return all
}

// List implements client.Reader for a cache with all objects.
func (m *marking) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *unstructured.UnstructuredList:
		l.Items = m.policies(l.GetKind())
	case *metav1.PartialObjectMetadataList:
		for _, name := range []string{"team-a", "team-b"} {
			l.Items = append(l.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}})
		}
	}
	return nil
}

// Get implements client.Reader.
func (m *marking) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the reconciler must not get single objects")
}

// RoundTrip implements http.RoundTripper for live lists of policies.
func (m *marking) RoundTrip(request *http.Request) (*http.Response, error) {
	kind := "RetentionPolicy"
	if strings.HasSuffix(request.URL.Path, "/clusterretentionpolicies") {
		kind = "ClusterRetentionPolicy"
	}
	items := []any{}
	for _, p := range m.policies(kind) {
		items = append(items, p.Object)
	}
	return answer.JSON(http.StatusOK, map[string]any{"metadata": map[string]any{"resourceVersion": "5000"}, "items": items}), nil
}
