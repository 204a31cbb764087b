// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// harness runs a Manager in a bubble. The test plays the API server and the reconciler: due objects are deleted as soon as
// the Manager permits it.
type harness struct {
	*ledgers.Manager
	*testing.T
	server
	cancel  context.CancelFunc
	stopped chan struct{} // closed when no more objects are deleted
	opened  chan struct{} // closed when Open has returned
	ended   chan error    // result of Start

	mu           sync.Mutex
	objects      map[types.UID]*object
	denied       map[string]bool // namespaces where nothing may be deleted
	removed      []string        // "TIME NAME" in order
	archives     archives
	answer       func(*object) *retention.Outcome
	least        time.Duration // see streamOf
	recorded     func(*object) // called when an object is evaluated that has an entry; nil for none
	observations int
	takes        time.Duration   // duration of a DELETE
	reading      time.Duration   // duration of a read
	unreadable   bool            // Observe fails
	doubt        error           // result of check
	deposed      error           // result of Check: why this process does not lead
	hung         map[string]bool // namespaces whose recorded objects are not sent, because all workers are busy
}

// object is a subject. A UID is "uid-" + name.
type object struct {
	harness   *harness
	namespace string
	name      string
	version   int
	due       time.Time
	held      bool
	terms     string // the outcome that its rule gives now
	byQ       bool   // a rule of policy q decides now
}

// inBubble runs a test with a Manager that has started. Policy p keeps a ledger, and its status names the ledger at once.
func inBubble(t *testing.T, test func(w *harness), before ...func(*harness)) {
	synctest.Test(t, func(t *testing.T) {
		w := &harness{T: t, objects: map[types.UID]*object{}, denied: map[string]bool{}}
		w.server.began = time.Now()
		w.server.ledgers = map[string]*v1alpha1.RetentionLedger{}
		w.server.policies = map[types.UID]*v1alpha1.RetentionPolicyStatus{"uid-p": {}}
		for _, b := range before {
			b(w)
		}
		w.begin("first")
		test(w)
		w.end()
	})
}

// begin starts a Manager, and end stops it. After that another one may begin.
func (w *harness) begin(identity string) {
	w.Manager = ledgers.New(ledgers.Options{
		Client: &w.server, Live: &w.server, Objects: w, Leadership: w, Clock: clock.RealClock{}, Identity: identity,
	})
	w.stopped, w.opened, w.ended = make(chan struct{}), make(chan struct{}), make(chan error, 1)
	w.archives = archives{harness: w, settled: map[string]bool{}}
	w.Decider = ledgers.Decider{Known: func() func(types.UID) bool { return w.knows }, Changed: w.report, Stopped: w.stopped, Check: w.check, Archives: &w.archives}
	ctx, cancel := context.WithCancel(log.IntoContext(w.Context(), logr.Discard()))
	w.cancel = cancel
	office, opened := w.Manager, w.opened
	go func() { w.ended <- office.Start(ctx) }()
	go func() {
		defer close(opened)
		_ = office.Open(ctx)
	}()
	bubble.Pass(50 * time.Millisecond)
}

// endedWith checks that the Manager has ended with an error.
func (w *harness) endedWith(want error) {
	w.Helper()
	select {
	case err := <-w.ended:
		if !errors.Is(err, want) {
			w.Errorf("the Manager ended with %v, want %v", err, want)
		}
	default:
		w.Error("the Manager has not ended")
	}
}

func (w *harness) end() {
	w.cancel()
	synctest.Wait()
	time.Sleep(100 * time.Millisecond) // requests in flight
	close(w.stopped)
	<-w.Done()
	synctest.Wait()
}

// use puts policies in force.
func (w *harness) use(policies ...*policy.Policy) {
	w.Use(policy.NewSnapshot(policies, nil, policy.DefaultProtection()))
	w.report()
	time.Sleep(50 * time.Millisecond)
	w.report()
	synctest.Wait()
}

// policyOf is a policy that keeps a ledger.
func policyOf(name string, limits *policy.Limits) *policy.Policy {
	return &policy.Policy{Name: name, UID: types.UID("uid-" + name), Mode: v1alpha1.Enforce, Namespaces: labels.Everything(), Ledger: true, Limits: limits}
}

// report is called on changes. It plays the status reporter, which names the ledgers in statuses.
func (w *harness) report() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	for uid, status := range w.server.policies {
		if l := w.server.ledgers[string(uid)]; l != nil && !w.server.unrecorded {
			status.Ledger = &v1alpha1.LedgerStatus{Name: l.Name}
			go w.Recorded(uid)
		}
	}
}

// add creates subjects that become due after a while, and queues them as the reconciler does.
func (w *harness) add(namespace, prefix string, n int, in time.Duration) {
	for i := range n {
		o := &object{harness: w, namespace: namespace, name: fmt.Sprintf("%s%d", prefix, i), version: 1, due: time.Now().Add(in)}
		w.set(func() { w.objects[o.uid()] = o })
		o.again(in - w.ahead())
		if in > 0 {
			o.again(in)
		}
	}
}

// ahead is how long before they are due subjects are evaluated.
func (w *harness) ahead() time.Duration {
	if w.archives.settings != nil {
		return 2 * time.Second
	}
	return time.Second
}

func (o *object) uid() types.UID { return types.UID("uid-" + o.name) }

// change makes a new version of an object, and has it evaluated; forget deletes it.
func (w *harness) change(name string, how func(*object)) {
	w.mu.Lock()
	o := w.objects[types.UID("uid-"+name)]
	o.version++
	how(o)
	w.mu.Unlock()
	o.Ready()
}

func (w *harness) forget(name string) {
	w.set(func() { delete(w.objects, types.UID("uid-"+name)) })
}

func (w *harness) knows(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objects[uid] != nil
}

// set changes the fields below mu.
func (w *harness) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// check returns the result of preflight.
func (w *harness) check(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubt
}

// Intent implements retention.Candidate.
func (o *object) Intent() (policy.Intent, bool) {
	o.harness.mu.Lock()
	defer o.harness.mu.Unlock()
	if o.harness.objects[o.uid()] != o || o.held || o.due.After(time.Now().Add(o.harness.ahead())) {
		return policy.Intent{}, false
	}
	rule := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "old"}, PolicyUID: "uid-p", Kind: fixture.Jobs, Mode: v1alpha1.Enforce, Ledger: true, Archive: o.harness.archives.settings}
	if o.byQ || strings.HasPrefix(o.name, "other") {
		rule.ID.Policy, rule.PolicyUID = "q", "uid-q"
	}
	return policy.Intent{Rule: rule, Due: o.due, Outcome: o.terms, Subject: policy.Subject{
		Namespace: o.namespace, Name: o.name, UID: o.uid(), ResourceVersion: strconv.Itoa(o.version)}}, true
}

// Ready implements retention.Candidate: it has the object evaluated.
func (o *object) Ready() { o.again(0) }

// again has the object evaluated after a while.
func (o *object) again(after time.Duration) {
	stopped := o.harness.stopped
	go func() {
		select {
		case <-time.After(after):
			o.decide()
		case <-stopped:
		}
	}()
}

// decide handles a subject as the reconciler does.
func (o *object) decide() {
	w := o.harness
	intent, ok := o.Intent()
	if !ok {
		return
	}
	if w.isDenied(o.namespace) {
		w.Withdraw(intent)
		o.again(5 * time.Second)
		return
	}
	target, stands := w.Lookup(intent)
	if stands && w.recorded != nil {
		w.recorded(o)
	}
	switch {
	case !stands:
		w.Reserve(intent, policy.TargetOf(fixture.Jobs, intent.Subject), o)
		return
	case time.Now().Before(o.due), w.isHung(o.namespace):
		return
	case !w.MarkSent(intent, target):
		o.again(200 * time.Millisecond)
		return
	}
	outcome := w.remove(o, target)
	w.Finish(intent, target, outcome)
	if outcome.Result != retention.Removed && outcome.Result != retention.Gone {
		o.again(time.Second)
	}
}

func (w *harness) isDenied(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.denied[namespace]
}

func (w *harness) isHung(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hung[namespace]
}

// remove sends a DELETE that takes a while.
func (w *harness) remove(o *object, t policy.Target) retention.Outcome {
	w.isWrittenDown(t)
	time.Sleep(max(w.takes, 10*time.Millisecond))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer != nil {
		if outcome := w.answer(o); outcome != nil {
			return *outcome
		}
	}
	switch {
	case w.objects[t.UID] == nil:
		return retention.Outcome{Result: retention.Gone, Err: errors.New("not found")}
	case strconv.Itoa(o.version) != t.ResourceVersion:
		return retention.Outcome{Result: retention.Changed, Err: errors.New("conflict")}
	}
	delete(w.objects, t.UID)
	w.removed = append(w.removed, time.Since(w.began).String()+" "+o.name)
	return retention.Outcome{Result: retention.Removed}
}

// names returns the names of the deleted objects, in order.
func (w *harness) names() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.removed {
		_, name, _ := strings.Cut(r, " ")
		names = append(names, name)
	}
	return names
}

// Observe implements ledgers.Objects.
func (w *harness) Observe(_ context.Context, t policy.Target) (ledger.Observation, error) {
	time.Sleep(w.reading)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observations++
	o := w.objects[t.UID]
	switch {
	case w.unreadable:
		return ledger.Observation{}, errors.New("blind")
	case o == nil:
		return ledger.Observation{Absent: true}, nil
	default:
		return ledger.Observation{UID: t.UID, ResourceVersion: strconv.Itoa(o.version)}, nil
	}
}

// Check implements ledgers.Leadership.
func (w *harness) Check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deposed
}

// is compares the counters and the open entries of p's ledger.
func (w *harness) is(deleted, gone int64, open ...string) {
	w.Helper()
	l := w.stored("uid-p")
	if l == nil {
		w.Fatal("the ledger does not exist")
	}
	var lines []string
	for _, group := range l.Open {
		for _, line := range group.Objects {
			name, _, _ := strings.Cut(line, " ")
			lines = append(lines, name)
		}
	}
	if l.Total != (v1alpha1.LedgerCount{Deleted: deleted, Gone: gone}) || !slices.Equal(lines, open) {
		w.Errorf("%v with %q open; want %d deleted, %d gone, %q open", l.Total, lines, deleted, gone, open)
	}
}

// isWrittenDown fails the test if an object is deleted and the API server has no entry for it.
func (w *harness) isWrittenDown(t policy.Target) {
	for _, name := range []string{"uid-p", "uid-q"} {
		l := w.stored(name)
		if l == nil {
			continue
		}
		for _, group := range l.Open {
			if slices.Contains(group.Objects, t.Name+" "+string(t.UID)+" "+t.ResourceVersion) {
				return
			}
		}
	}
	w.Errorf("%s is deleted, and not recorded", t.Name)
}
