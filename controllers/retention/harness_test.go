// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func invalid(r *policy.Rule) { r.Problems = []policy.Problem{{Path: "spec"}} }

// random returns random numbers that several goroutines may share.
func random(seed uint64) *rand.Rand { return rand.New(&lockedSource{source: rand.NewPCG(seed, 0)}) }

type lockedSource struct {
	mu     sync.Mutex
	source rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

// draft is a row under construction, with the same facts for every rule.
type draft struct {
	policy.Subject
	Facts policy.Facts
}

// row returns a subject of team-a at version 1 whose TTL starts at a time.
func row(name string, start time.Time, options ...func(*draft)) *draft {
	r := &draft{
		Subject: policy.Subject{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Created: start},
		Facts:   policy.Facts{Selected: true, Eligible: true, Start: start},
	}
	for _, o := range options {
		o(r)
	}
	return r
}

func in(namespace string) func(*draft) { return func(r *draft) { r.Namespace = namespace } }
func version(v int) func(*draft) {
	return func(r *draft) { r.ResourceVersion = fmt.Sprint(v) }
}

// rows returns many subjects that are due at the same time.
func rows(prefix string, n int, start time.Time, options ...func(*draft)) []*draft {
	var all []*draft
	for i := range n {
		all = append(all, row(fmt.Sprintf("%s%05d", prefix, i), start, options...))
	}
	return all
}

// source is a retention.Source that a test controls.
type source struct {
	sink  retention.Sink
	ctx   context.Context
	read  func(policy.Subject) (*draft, error)
	reads int

	mu      sync.Mutex
	asks    retention.RuleSet
	refuses bool                                     // to change its rules
	listing func(namespace string) ([]*draft, error) // of one namespace
	listed  []string                                 // listed namespaces, in order
	slow    time.Duration                            // how long it takes to list a namespace
	taken   []bool                                   // whether the sink took the rows of each list of a namespace

	synchronize func(context.Context) error // nil: the watch has every change

	confirm   func(policy.Subject)
	behind    error    // result of Confirm
	confirmed []string // confirmed names, in order
}

func (s *source) Run(ctx context.Context, sink retention.Sink) {
	s.ctx, s.sink = ctx, sink
	<-ctx.Done()
}

func (s *source) Read(_ context.Context, subject policy.Subject, take func(*index.FactRow)) error {
	s.reads++
	if s.read == nil {
		return fmt.Errorf("this source cannot read")
	}
	r, err := s.read(subject)
	switch {
	case err != nil:
		return err
	case r == nil:
		take(nil)
	default:
		take(s.answered(r))
	}
	return nil
}

// Confirm implements retention.Confirmer.
func (s *source) Confirm(subject policy.Subject) error {
	s.mu.Lock()
	s.confirmed = append(s.confirmed, subject.Name)
	confirm, behind := s.confirm, s.behind
	s.mu.Unlock()
	if subject.ResourceVersion == "" {
		return errors.New("no version to confirm")
	}
	if confirm != nil {
		confirm(subject)
	}
	return behind
}

// Synchronize implements retention.Synchronizer.
func (s *source) Synchronize(ctx context.Context) error {
	s.mu.Lock()
	synchronize := s.synchronize
	s.mu.Unlock()
	if synchronize == nil {
		return nil
	}
	return synchronize(ctx)
}

// SetRules implements retention.Relister.
func (s *source) SetRules(q retention.RuleSet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses {
		return false
	}
	s.asks = q
	return true
}

// List implements retention.Relister.
func (s *source) List(_ context.Context, namespace string, _ func(policy.Subject, *index.Columns) bool, take func([]*index.FactRow) bool) error {
	s.mu.Lock()
	s.listed = append(s.listed, namespace)
	listing, slow, asks := s.listing, s.slow, s.asks
	s.mu.Unlock()
	time.Sleep(slow / 2)
	if listing == nil {
		take(nil)
		return nil
	}
	drafts, err := listing(namespace)
	time.Sleep(slow / 2)
	if err == nil {
		rows := make([]*index.FactRow, len(drafts))
		for i, r := range drafts {
			rows[i] = answering(asks, r) // with the rules at the beginning of the list
		}
		taken := take(rows)
		s.set(func() { s.taken = append(s.taken, taken) })
	}
	return err
}

// asked returns the current rules of the source.
func (s *source) asked() retention.RuleSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

// answered returns a row with the facts of the current rules.
func (s *source) answered(r *draft) *index.FactRow { return answering(s.asked(), r) }

func answering(asks retention.RuleSet, r *draft) *index.FactRow {
	about := asks.About(r.Namespace)
	return index.NewFactRow(r.Subject, about.Layout, slices.Repeat([]policy.Facts{r.Facts}, len(about.Rules))...)
}

func (s *source) answers(drafts []*draft) []*index.FactRow {
	rows := make([]*index.FactRow, len(drafts))
	for i, r := range drafts {
		rows[i] = s.answered(r)
	}
	return rows
}

// list passes a listing to the sink, and apply a change.
func (s *source) list(drafts ...*draft) { s.sink.Replace(s.answers(drafts)) }
func (s *source) apply(r *draft)        { s.sink.Apply(s.answered(r)) }

// harness runs a Reconciler in a bubble. The test controls everything around it.
type harness struct {
	*retention.Reconciler
	snapshot *policy.Snapshot
	t        *testing.T
	clock    bubble.Clock
	began    time.Time
	ctx      context.Context
	cancel   context.CancelFunc
	stopped  chan struct{} // closed when Start has returned

	mu       sync.Mutex
	sources  []*source
	attempts []string // NAME@VERSION, in order
	events   []string // deletions and calls of Removed, with their times
	outcome  func(policy.DeletePermit) retention.Outcome
	check    func(namespace string) error
	checks   int

	removals int // calls of Attempted
	permit   func(*policy.Rule) error
	ages     map[string]time.Duration // age of the answers of Permit, by policy.RuleID.Rule

	permitOwner   func(*policy.Rule, *policy.Owner) error
	prefetch      func(namespace string, at time.Time)
	resolved      []string // SUBJECT at OWNER, in order
	resolveTarget func(policy.Intent) (policy.Target, *retention.Outcome)
	prepare       func(context.Context) *retention.Outcome
	prepared      func(policy.DeletePermit) // called for each deletion that was prepared

	storage *storage // makes snapshots; nil for none

	marks  []string // NAME@VERSION ANNOTATION, in order
	marked func(policy.EligibleSincePatch) retention.Outcome
}

// inBubble runs a test with a started harness, and checks that the harness ends.
func inBubble(t *testing.T, options retention.Options, test func(t *testing.T, w *harness)) {
	inLoggedBubble(t, logr.Discard(), options, test)
}

// inLoggedBubble is inBubble with a logger.
func inLoggedBubble(t *testing.T, logger logr.Logger, options retention.Options, test func(t *testing.T, w *harness)) {
	beforeStart(t, logger, options, func(t *testing.T, w *harness, start func()) {
		start()
		test(t, w)
	})
}

// beforeStart runs a test in a bubble with a harness that the test starts.
func beforeStart(t *testing.T, logger logr.Logger, options retention.Options, test func(t *testing.T, w *harness, start func())) {
	synctest.Test(t, func(t *testing.T) {
		w := &harness{t: t, began: time.Now(), stopped: make(chan struct{})}
		options.Sources, options.Remover, options.Live, options.Observer = w, w, w, w
		options.Clock = &w.clock
		w.Reconciler = retention.New(options)
		w.ctx, w.cancel = context.WithCancel(log.IntoContext(t.Context(), logger))
		test(t, w, func() {
			go func() {
				defer close(w.stopped)
				if err := w.Start(w.ctx); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		})
		w.cancel()
		<-w.stopped
		synctest.Wait()
	})
}

// runInBubble runs a subtest with a started harness.
func runInBubble(t *testing.T, name string, options retention.Options, test func(t *testing.T, w *harness)) {
	t.Run(name, func(t *testing.T) { inBubble(t, options, test) })
}

// Open implements retention.Sources.
func (w *harness) Open(q retention.RuleSet) retention.Source {
	s := &source{asks: q}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sources = append(w.sources, s)
	return s
}

// Check implements preflight.Live.
func (w *harness) Check(_ context.Context, namespace string) (time.Time, error) {
	w.mu.Lock()
	w.checks++
	check := w.check
	w.mu.Unlock()
	since := w.clock.Now()
	if check == nil {
		return since, nil
	}
	return since, check(namespace)
}

// Prefetch implements preflight.Live.
func (w *harness) Prefetch(_ context.Context, namespace string, at time.Time) {
	w.mu.Lock()
	prefetch := w.prefetch
	w.mu.Unlock()
	if prefetch != nil {
		prefetch(namespace, at)
	}
}

// Permit implements preflight.Live.
func (w *harness) Permit(ctx context.Context, r *policy.Rule) (time.Time, error) {
	w.mu.Lock()
	permit, since := w.permit, w.clock.Now().Add(-w.ages[r.ID.Rule])
	w.mu.Unlock()
	if permit == nil {
		return since, nil
	}
	answer := make(chan error, 1)
	go func() { answer <- permit(r) }()
	select {
	case err := <-answer:
		return since, err
	case <-ctx.Done():
		return since, ctx.Err()
	}
}

// PermitOwner implements preflight.Live.
func (w *harness) PermitOwner(_ context.Context, r *policy.Rule, owner *policy.Owner) (time.Time, error) {
	w.mu.Lock()
	permit := w.permitOwner
	w.mu.Unlock()
	since := w.clock.Now()
	if permit == nil {
		return since, nil
	}
	return since, permit(r, owner)
}

// tooMany ends a test that loops: the fake time does not advance in a loop.
const tooMany = 30_000

// ResolveTarget implements retention.TargetResolver.
func (w *harness) ResolveTarget(_ context.Context, i policy.Intent) (policy.Target, *retention.Outcome) {
	if i.Owner != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.resolved = append(w.resolved, i.Subject.Name+" at "+i.Owner.String())
		if w.resolveTarget != nil {
			return w.resolveTarget(i)
		}
		return targetOf(i, "1"), nil
	}
	return policy.TargetOf(i.Rule.Kind, i.Subject), nil
}

// Prepare implements retention.Remover.
func (w *harness) Prepare(ctx context.Context, permit policy.DeletePermit, target policy.Target) (retention.Prepared, *retention.Outcome) {
	w.mu.Lock()
	prepare, prepared := w.prepare, w.prepared
	w.mu.Unlock()
	if prepared != nil {
		prepared(permit)
	}
	if prepare != nil {
		if blocked := prepare(ctx); blocked != nil {
			return retention.Prepared{}, blocked
		}
	}
	return retention.Prepared{Since: w.clock.Now(), Send: func(ctx context.Context, cleared policy.Clearance, since time.Time) retention.Outcome {
		w.mustBeFresh(since)
		if !cleared.Permits(target) {
			w.t.Errorf("sent without a clearance for %v", target)
		}
		w.mustBeArchived(cleared)
		w.mustHaveSnapshot(cleared)
		return w.remove(ctx, cleared.Permit(), target)
	}}, nil
}

// mustBeArchived fails the test if the rule archives and the archive has no record of exactly this version.
func (w *harness) mustBeArchived(c policy.Clearance) {
	if c.Permit().Rule().Archive == nil {
		return
	}
	if b, ok := w.Archive.(*archiveFake); !ok || !b.holds(c.Target()) || !c.Receipt().Covers(c.Target(), c.Permit().Rule()) {
		w.t.Errorf("%v is deleted without its record", c.Target())
	}
}

// mustBeFresh fails the test if the answers are too old for a request that is sent now.
func (w *harness) mustBeFresh(since time.Time) {
	if !preflight.Fresh(w.clock.Now(), since) {
		w.t.Errorf("sent with answers that are %s old", w.clock.Now().Sub(since))
	}
}

func (w *harness) remove(ctx context.Context, permit policy.DeletePermit, target policy.Target) retention.Outcome {
	isSubject := target == policy.TargetOf(permit.Rule().Kind, permit.Subject())
	if !permit.Valid() || ctx.Err() != nil || isSubject == (permit.Owner() != nil) {
		w.t.Errorf("remove %v with permit %v: %v", target, permit.Valid(), ctx.Err())
	}
	w.mu.Lock()
	w.attempts = append(w.attempts, permit.Subject().Name+"@"+permit.Subject().ResourceVersion)
	n, outcome := len(w.attempts), w.outcome
	w.mu.Unlock()
	if n == tooMany {
		w.t.Errorf("%d attempts within %s", n, time.Since(w.began))
		w.cancel()
	}
	o := retention.Outcome{Result: retention.Removed}
	if outcome != nil {
		o = outcome(permit)
	}
	if ctx.Err() != nil {
		w.t.Errorf("cancelled: %v", ctx.Err())
	}
	if o.Result == retention.Removed {
		w.note("removed %s", target.Name)
	}
	return o
}

// Mark implements retention.Marker.
func (w *harness) Mark(_ context.Context, kind schema.GroupVersionKind, m policy.EligibleSincePatch, since time.Time) retention.Outcome {
	w.mustBeFresh(since)
	if !m.Valid() || kind != fixture.Jobs {
		w.t.Errorf("mark %s with a valid patch: %v", kind, m.Valid())
	}
	w.mu.Lock()
	w.marks = append(w.marks, fmt.Sprintf("%s@%s %s", m.Subject().Name, m.Subject().ResourceVersion, m.Annotation()))
	marked := w.marked
	w.mu.Unlock()
	if marked == nil {
		return retention.Outcome{Result: retention.Marked}
	}
	return marked(m)
}

// Removed implements retention.Observer.
func (w *harness) Removed(r retention.Removal) {
	w.note("witnessed %s by %s, due %s", r.Subject.Name, r.Rule.ID, r.Due.Sub(w.began))
	if !r.At.Equal(w.clock.Now()) {
		w.t.Errorf("witnessed at %s, now is %s", r.At, w.clock.Now())
	}
}

// Attempted implements retention.Observer.
func (w *harness) Attempted(retention.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removals++
}

func (w *harness) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf("%s ", time.Since(w.began))+fmt.Sprintf(format, args...))
}

// Use remembers the snapshot.
func (w *harness) Use(snapshot *policy.Snapshot, programs map[string]*engine.Program) {
	w.snapshot = snapshot
	w.Reconciler.Use(snapshot, programs)
}

// use puts rules in force, each in a policy for all namespaces.
func (w *harness) use(rules ...*policy.Rule) {
	w.Use(snapshotOf(rules...))
	synctest.Wait()
}

// compiler is shared: the tests only compare its programs, and never run them.
var compiler, _ = engine.NewCompiler(engine.Options{})

// program returns the compiled rule of a rule's key.
func program(r *policy.Rule) *engine.Program {
	eligible := fmt.Sprintf("object.kind != %q", r.Key)
	if r.Kind == fixture.ConfigMaps {
		eligible += " && references.count == 0"
	}
	compiled, problems := compiler.Rule(v1alpha1.Rule{
		Target:    v1alpha1.Target{APIVersion: r.Kind.GroupVersion().String(), Kind: r.Kind.Kind},
		Eligible:  eligible,
		StartTime: "timestamp(object.metadata.creationTimestamp)",
	}, nil, "")
	if compiled == nil {
		panic(problems)
	}
	return compiled
}

// snapshotOf returns a Snapshot with a policy for each rule, and their programs.
func snapshotOf(rules ...*policy.Rule) (*policy.Snapshot, map[string]*engine.Program) {
	var policies []*policy.Policy
	programs := map[string]*engine.Program{}
	for _, r := range rules {
		asking, asks := *r, program(r)
		asking.Key = asks.Key()
		programs[asking.Key] = asks
		policies = append(policies, &policy.Policy{
			Name: r.ID.Policy, Namespace: r.Namespace, Mode: r.Mode, Namespaces: labels.Everything(), Rules: []*policy.Rule{&asking},
		})
	}
	known := map[string]policy.Namespace{"team-a": {}, "team-b": {}, "team-c": {}, "quiet": {}}
	for i := range 50 {
		known[fmt.Sprintf("good-%02d", i)], known[fmt.Sprintf("bad-%02d", i)] = policy.Namespace{}, policy.Namespace{}
	}
	return policy.NewSnapshot(policies, known, policy.DefaultProtection()), programs
}

// listed puts rule a in force, and lists subjects. It returns their source.
func (w *harness) listed(drafts ...*draft) *source { return w.listedBy(fixture.Rule("a"), drafts...) }

// listedBy puts a rule in force, and lists subjects. It returns their source.
func (w *harness) listedBy(r *policy.Rule, drafts ...*draft) *source {
	w.use(r)
	s := w.source(0)
	s.list(drafts...)
	return s
}

// source returns the n-th source that was opened.
func (w *harness) source(n int) *source {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n >= len(w.sources) {
		w.t.Fatalf("%d sources were opened, want %d", len(w.sources), n+1)
	}
	return w.sources[n]
}

// removed returns the names deleted so far, in order.
func (w *harness) removed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := []string{}
	for _, event := range w.events {
		if _, name, ok := strings.Cut(event, " removed "); ok {
			names = append(names, name)
		}
	}
	return names
}

func (w *harness) attempted() (names []string) {
	w.set(func() { names = slices.Clone(w.attempts) })
	return names
}

func (w *harness) happened() (events []string) {
	w.set(func() { events = slices.Clone(w.events) })
	return events
}

// count returns the number of strings with a prefix.
func count(all []string, prefix string) int {
	n := 0
	for _, s := range all {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// set changes the behavior of the harness from now on.
func (w *harness) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// onDelete sets how DELETEs end from now on.
func (w *harness) onDelete(outcome func(policy.DeletePermit) retention.Outcome) {
	w.set(func() { w.outcome = outcome })
}

// onEachDelete sets how every DELETE ends from now on.
func (w *harness) onEachDelete(outcome func() retention.Outcome) {
	w.onDelete(func(policy.DeletePermit) retention.Outcome { return outcome() })
}
