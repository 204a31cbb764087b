// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/long"
)

// model implements an Index in the simplest way: it ranks and evaluates all rows again for every question.
type model struct {
	rows     map[types.UID]*known
	snapshot *policy.Snapshot
	listing  index.Listing
	synced   bool
}

// known is a subject with the facts that count, by key.
type known struct {
	policy.Subject
	facts         map[string]policy.Facts
	lapsed        map[string]bool // for unknown references: whether they were known before
	gone, leaving bool
	came          draft // the row as it arrived
}

// take replaces the known row of a subject, old, by a new one; gap says that versions between them may have been missed.
func (m *model) take(d draft, old *known, gap bool, now time.Time) {
	row := &known{Subject: d.Subject, facts: map[string]policy.Facts{}, lapsed: map[string]bool{}, came: d}
	if old != nil {
		row.gone, row.leaving = old.gone && old.ResourceVersion == d.ResourceVersion, old.leaving
		gap = gap && old.ResourceVersion != d.ResourceVersion
	}
	for i, key := range d.Layout.Keys() {
		f := d.Facts[i]
		if f.Marked && f.Eligible {
			carries := !f.Start.IsZero()
			f.Start, f.Estimated = sinceWhen(f, old, key, gap, now)
			f.Outdated = f.Estimated && carries
		}
		if f.InDoubt() {
			row.lapsed[key] = old.wasKnown(key) || old != nil && gap
			f.Outdated = f.Marked && row.lapsed[key]
		}
		row.facts[key] = f
	}
	m.rows[d.UID] = row
}

// wasKnown reports whether a rule has evaluated the subject with known references.
func (k *known) wasKnown(key string) bool {
	if k == nil {
		return false
	}
	f, seen := k.facts[key]
	return seen && (!f.InDoubt() || k.lapsed[key])
}

// sinceWhen returns from when on a subject with a mark counts as eligible. The start of the facts is the mark; zero for
// none.
func sinceWhen(f policy.Facts, old *known, key string, gap bool, now time.Time) (since time.Time, estimated bool) {
	mark := f.Start
	var before policy.Facts
	seen := false
	if old != nil {
		before, seen = old.facts[key]
	}
	switch {
	case old != nil && gap, old.wasKnown(key) && (!before.Eligible || f.NotBefore.After(before.NotBefore)): // any mark before now is void
		if mark.Before(now) {
			return now, true
		}
	case seen && !before.Start.IsZero(): // any mark before the known start is void, or before now if that is earlier
		first := before.Start
		if first.After(now) {
			first = now
		}
		if mark.Before(first) {
			return first, true
		}
	case mark.IsZero():
		return now, true
	}
	return mark, false
}

// layoutIn returns the layout of the rows in a namespace.
func (m *model) layoutIn(namespace string) *index.Columns {
	if l := m.listing.Layouts[namespace]; l != nil {
		return l
	}
	return m.listing.Layout
}

func (m *model) rule(row *known) (policy.Subject, []policy.Evaluation) {
	page := m.snapshot.Effective(fixture.Jobs.GroupKind(), row.Namespace)
	var evaluations []policy.Evaluation
	for _, r := range page.Rules {
		evaluation := policy.Evaluation{Rule: r, Rank: m.rank(r.ID, row.UID)}
		if facts, ok := row.facts[r.Key]; ok && m.listing.Kind == fixture.Jobs {
			evaluation.Facts, evaluation.Known = facts, m.synced && m.snapshot.Knows(row.Namespace)
		}
		evaluations = append(evaluations, evaluation)
	}
	return page.WithHold(row.Subject), evaluations
}

// rank ranks all rows to get the result of one.
func (m *model) rank(id policy.RuleID, uid types.UID) policy.RankResult {
	if !slices.Contains(m.snapshot.Ranked(fixture.Jobs.GroupKind()), id) {
		return policy.RankResult{}
	}
	var members []policy.Candidate
	for _, row := range m.rows {
		for _, r := range m.snapshot.Effective(fixture.Jobs.GroupKind(), row.Namespace).Rules {
			if member, ok := m.member(row, r); ok && r.ID == id {
				members = append(members, member)
			}
		}
	}
	standings := m.snapshot.Ranking(fixture.Jobs.GroupKind(), id).Rank(members)
	for i := range members {
		if members[i].UID == uid {
			return standings[i]
		}
	}
	return policy.RankResult{}
}

func (m *model) member(row *known, r *policy.Rule) (policy.Candidate, bool) {
	member := policy.Candidate{Namespace: row.Namespace, UID: row.UID}
	facts, ok := row.facts[r.Key]
	switch {
	case row.gone, row.leaving, row.Flags.Has(policy.IsTerminating):
		return member, false
	case !ok, facts.Err != nil, m.listing.Kind != fixture.Jobs:
		member.Unknown = true
		return member, true
	}
	member.Group, member.Also, member.Start = facts.Group, facts.Also, facts.Start
	if member.Start.Before(row.Created) {
		member.Start = row.Created
	}
	return member, facts.Selected && facts.Eligible && !facts.Start.IsZero()
}

// due returns the subjects to delete or mark, sorted.
func (m *model) due(now time.Time) []string {
	var due []string
	for uid, row := range m.rows {
		subject, evaluations := m.rule(row)
		verdict, _ := policy.Decide(subject, evaluations, now)
		if !row.gone && (verdict.Action == policy.Delete || policy.NeedsEligibleSincePatch(subject, evaluations, now)) {
			due = append(due, string(uid))
		}
	}
	slices.Sort(due)
	return due
}

// isExpected reports whether a subject is not due yet, and must be recorded now.
func (m *model) isExpected(uid types.UID, now time.Time) bool {
	subject, evaluations := m.rule(m.rows[uid])
	i, ok := policy.PredictIntent(subject, evaluations, now.Add(index.Ahead))
	return ok && i.Rule.Ledger && i.Due.After(now) && !m.rows[uid].gone
}

// player makes the same calls to an index and to its model.
type player struct {
	*rand.Rand
	harness  *harness
	model    *model
	now      time.Time
	policies []*policy.Policy
	crowded  bool // so many other subjects that a change of one namespace affects few of all
	known    map[string]policy.Namespace
	alive    map[string][]*index.Columns // layouts that rows of a namespace may have
	out      map[types.UID]bool          // taken and not returned: queued, or with a DELETE in flight
	versions int
	listings uint64
	ops      []string
	shown    map[types.UID]shown // at the last comparison, of the versions of their namespaces
	shownAt  map[string]uint64
}

// cluster has the keys of rules of ClusterRetentionPolicies, own those of RetentionPolicies. Rule c has no startTime.
var (
	cluster = []string{"a", "b", "c"}
	own     = []string{"own", "other"}
)

var places = []string{"team-a", "team-b", "unborn", "kube-system", ""}

func newPlayer(seed int64) *player {
	p := &player{Rand: rand.New(rand.NewSource(seed)), now: now, harness: &harness{}, out: map[types.UID]bool{}, crowded: seed%10 == 0}
	p.harness.Index = index.New(fixture.Jobs.GroupKind(), func() { p.harness.wakes++ })
	p.model = &model{rows: map[types.UID]*known{}, snapshot: &policy.Snapshot{}}
	if p.Intn(2) == 0 {
		p.setSnapshot()
	}
	p.replace()
	return p
}

// uid returns one of 15 subjects. Each has a fixed namespace; most are in team-a.
func (p *player) uid() types.UID { return types.UID(fmt.Sprint("u", p.Intn(15))) }

// crowd is the number of the first of the other subjects, in a protected namespace.
const crowd = 100

func placeOf(uid types.UID) string {
	n, _ := strconv.Atoi(string(uid[1:]))
	if n >= crowd {
		return "kube-system"
	}
	return places[max(0, n-10)]
}

// layout has some of these columns.
func (p *player) layout(names []string) *index.Columns {
	names = slices.Clone(names)
	p.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return index.NewColumns(names[:1+p.Intn(len(names))]...)
}

// row returns a random version of a subject.
func (p *player) row(uid types.UID, version string, l *index.Columns) draft {
	r := draft{Layout: l, Subject: policy.Subject{
		Namespace: placeOf(uid), UID: uid, Name: string(uid), ResourceVersion: version,
		Created: now.Add(time.Duration(p.Intn(240)-180) * time.Minute),
	}}
	r.Flags = []policy.Flags{0, 0, 0, 0, 0, 0, policy.IsHeld, policy.IsTerminating}[p.Intn(8)]
	for _, key := range l.Keys() {
		facts := policy.Facts{Selected: p.Intn(6) > 0, Start: now.Add(time.Duration(p.Intn(600)-120) * time.Minute)}
		facts.Eligible = facts.Selected && p.Intn(5) > 0
		facts.Group = []string{"", "import", "export"}[p.Intn(3)]
		facts.Also = [][]string{nil, nil, nil, {"more"}, {"more", "most"}}[p.Intn(5)]
		switch {
		case key == "c":
			facts.Marked = true
			switch {
			case p.Intn(2) == 0:
				facts.Start = time.Time{}
			case facts.Eligible && p.Intn(2) == 0: // the condition Unused of a claim has changed after the mark
				facts.EarlierMark = facts.Start.Add(-time.Duration(1+p.Intn(60)) * time.Minute)
			}
		case facts.Eligible && p.Intn(10) == 0:
			facts.Start = time.Time{}
		}
		if !facts.Selected {
			facts = policy.Facts{Marked: facts.Marked, Start: facts.Start}
			if !facts.Marked {
				facts.Start = time.Time{}
			}
		}
		if facts.Selected && p.Intn(12) == 0 {
			facts = policy.Facts{Selected: true, Err: errFailed, Marked: facts.Marked}
		}
		switch {
		case key == "b", facts.Err != nil:
		case facts.Selected && p.Intn(8) == 0:
			facts = policy.Facts{Selected: true, Err: errDoubted, Marked: facts.Marked, Start: facts.Start}
			if !facts.Marked {
				facts.Start = time.Time{}
			}
		case facts.Eligible && p.Intn(4) == 0:
			facts.NotBefore = p.now.Add(time.Duration(p.Intn(3)) * policy.QuietPeriod)
		}
		r.Facts = append(r.Facts, facts)
	}
	return r
}

var (
	errFailed  = fmt.Errorf("no such key: status")
	errDoubted = fmt.Errorf("%w: no permission to list Pods", policy.ErrReferencesUnknown)
)

// row returns the row of a draft. Only every other one is made with facts of every column.
func (d draft) row() *index.FactRow {
	if len(d.ResourceVersion)%2 == 0 {
		return index.NewFactRow(d.Subject, d.Layout, d.Facts...)
	}
	return index.NewSparseFactRow(d.Subject, d.Layout, func(yield func(int, policy.Facts) bool) {
		for i, f := range d.Facts {
			if (f.Selected || !f.Start.IsZero()) && !yield(i, f) {
				return
			}
		}
	})
}

func (p *player) version() string {
	p.versions++
	return fmt.Sprint(p.versions)
}

// aliveIn returns a layout that rows of a namespace may have.
func (p *player) aliveIn(namespace string) *index.Columns {
	if alive := p.alive[namespace]; len(alive) > 0 {
		return alive[p.Intn(len(alive))]
	}
	return p.model.listing.Layout
}

func (p *player) replace() {
	p.listings++
	next := index.Listing{ID: p.listings, Kind: fixture.Jobs, Layout: p.layout(cluster), Layouts: map[string]*index.Columns{}}
	if p.Intn(8) == 0 {
		next.Kind = schema.GroupVersionKind{Group: fixture.Jobs.Group, Version: "v2", Kind: fixture.Jobs.Kind}
	}
	p.alive = map[string][]*index.Columns{}
	for _, namespace := range places[:2] {
		if p.Intn(3) > 0 {
			next.Layouts[namespace] = p.layout(slices.Concat(cluster, own))
			p.alive[namespace] = []*index.Columns{next.Layouts[namespace], next.Layout}
		}
	}
	before, gap := p.model.rows, !p.model.synced
	p.model.listing, p.model.rows, p.model.synced = next, map[types.UID]*known{}, true
	var rows []*index.FactRow
	for range p.Intn(20) {
		uid := p.uid()
		version := p.version()
		if old := before[uid]; old != nil && p.Intn(2) == 0 {
			version = old.ResourceVersion
		}
		r := p.row(uid, version, p.aliveIn(placeOf(uid)))
		rows = append(rows, r.row())
		p.model.take(r, before[uid], gap, p.now)
	}
	if p.crowded {
		for i := range 80 {
			r := p.row(types.UID(fmt.Sprint("u", crowd+i)), p.version(), next.Layout)
			rows = append(rows, r.row())
			p.model.take(r, before[r.UID], gap, p.now)
		}
	}
	p.harness.Replace(next, rows, p.now)
}

func (p *player) apply() {
	uid := p.uid()
	p.applyRow(p.row(uid, p.version(), p.aliveIn(placeOf(uid))))
}

func (p *player) applyRow(r draft) {
	p.harness.Apply(p.model.listing.ID, r.row(), p.now)
	p.model.take(r, p.model.rows[r.UID], false, p.now)
}

// applyLate applies the known version of a subject, evaluated for other rules than its namespace has now.
func (p *player) applyLate() {
	uid := p.uid()
	old, l := p.model.rows[uid], p.aliveIn(placeOf(uid))
	if old == nil {
		return
	}
	if r := p.row(uid, old.ResourceVersion, l); l == p.model.layoutIn(r.Namespace) || l == old.came.Layout {
		p.applyRow(r)
	} else {
		p.harness.Apply(p.model.listing.ID, r.row(), p.now)
	}
}

// applyAgain applies the known row: the rules were evaluated again, with the same result.
func (p *player) applyAgain() {
	if old := p.model.rows[p.uid()]; old != nil {
		p.applyRow(old.came)
	}
}

func (p *player) applyStale() {
	p.harness.Apply(1<<40, p.row(p.uid(), p.version(), columns["a"]).row(), p.now)
	p.harness.Refresh(1<<40, p.row(p.uid(), p.version(), columns["a"]).row(), p.now)
	p.harness.Forget(1<<40, p.uid(), p.now)
	p.harness.MarkIncomplete(1 << 40)
	uid := types.UID("u0")
	p.harness.ReplaceNamespace(index.Listing{ID: 1 << 40, Kind: fixture.Jobs, Layout: columns["a"]}, []*index.FactRow{p.row(uid, p.version(), columns["a"]).row()}, p.now)
}

// readVersion returns a version that a live read may return; newer and equal compare it with the known one.
func (p *player) readVersion(uid types.UID) (version string, newer, equal bool) {
	old := p.model.rows[uid]
	if old == nil {
		return p.version(), false, false
	}
	switch p.Intn(4) {
	case 0:
		return p.version(), true, false
	case 1:
		return old.ResourceVersion, false, true
	case 2:
		return "new", false, false
	default:
		return "0", false, false
	}
}

func (p *player) refresh() {
	uid := p.uid()
	version, newer, _ := p.readVersion(uid)
	r := p.row(uid, version, p.aliveIn(placeOf(uid)))
	p.harness.Refresh(p.model.listing.ID, r.row(), p.now)
	if newer {
		p.model.take(r, p.model.rows[uid], false, p.now)
	}
}

// replaceNamespace gives a namespace another layout, with a list of versions that are newer than, equal to or older than the known
// ones.
func (p *player) replaceNamespace() {
	namespace, to := places[p.Intn(2)], p.layout(slices.Concat(cluster, own))
	p.alive[namespace] = append(p.alive[namespace], to)
	next := p.model.listing
	next.Layouts = maps.Clone(next.Layouts)
	next.Layouts[namespace] = to
	listed := map[types.UID]bool{}
	var rows []*index.FactRow
	for range p.Intn(20) {
		uid := p.uid()
		if placeOf(uid) != namespace || listed[uid] {
			continue
		}
		listed[uid] = true
		version, newer, equal := p.readVersion(uid)
		r := p.row(uid, version, to)
		rows = append(rows, r.row())
		if newer || equal {
			p.model.take(r, p.model.rows[uid], false, p.now)
		}
	}
	p.model.listing = next
	p.harness.ReplaceNamespace(next, rows, p.now)
}

func (p *player) forget() {
	uid := p.uid()
	p.harness.Forget(p.model.listing.ID, uid, p.now)
	delete(p.model.rows, uid)
}

func (p *player) markIncomplete() {
	p.harness.MarkIncomplete(p.model.listing.ID)
	p.model.synced = false
}

// setSnapshot edits a policy, or changes the namespaces, often with all policies.
func (p *player) setSnapshot() {
	switch p.Intn(4) {
	case 0:
		p.policies = p.edited()
	case 1, 2:
		p.policies = p.anyPolicies()
		fallthrough
	default:
		p.known = p.anyNamespaces()
	}
	p.model.snapshot = policy.NewSnapshot(p.policies, p.known, policy.DefaultProtection())
	p.harness.SetSnapshot(p.model.snapshot, p.now)
}

func (p *player) anyNamespaces() map[string]policy.Namespace {
	known := map[string]policy.Namespace{}
	for _, namespace := range places[:3] {
		if p.Intn(5) > 0 {
			known[namespace] = policy.Namespace{
				Labels: labels.Set{"tier": []string{"ci", "prod"}[p.Intn(2)]}, Held: p.Intn(6) == 0,
				Quotas: map[string]int64{"jobs.batch": int64(p.Intn(10))},
			}
		}
	}
	return known
}

func (p *player) anyPolicies() []*policy.Policy {
	var policies []*policy.Policy
	for _, key := range cluster {
		if p.Intn(4) > 0 {
			policies = append(policies, policyOf(p.anyRule(key), []string{"", "", "ci", "prod"}[p.Intn(4)]))
		}
	}
	for _, namespace := range places[:2] {
		if p.Intn(2) == 0 {
			continue
		}
		r := p.anyRule(own[p.Intn(2)])
		r.ID.Policy, r.Namespace = namespace+"/own", namespace
		of := &policy.Policy{Name: r.ID.Policy, Namespace: namespace, Mode: r.Mode, Rules: []*policy.Rule{r}}
		for _, key := range cluster {
			if p.Intn(3) == 0 {
				keep := p.Intn(4)
				of.Overrides = append(of.Overrides, &policy.Override{From: of.Name, Policy: key, Keep: &keep, InForce: true})
			}
		}
		policies = append(policies, of)
	}
	return policies
}

// edited returns the policies after an edit of one of them. Often its rules wait for approval.
func (p *player) edited() []*policy.Policy {
	policies := slices.Clone(p.policies)
	if len(policies) == 0 {
		return nil
	}
	at := p.Intn(len(policies))
	edited := *policies[at]
	edited.Rules = nil
	for _, was := range policies[at].Rules {
		r := *was
		r.Unapproved = p.Intn(3) > 0
		switch p.Intn(4) {
		case 0:
			r.Mode = v1alpha1.DryRun
		case 1:
			r.Unpermitted = !r.Unpermitted
		case 2:
			r.TTL = time.Duration(p.Intn(5)) * time.Hour
		}
		edited.Rules = append(edited.Rules, &r)
	}
	policies[at] = &edited
	return policies
}

// anyRule returns a rule with a key and random settings.
func (p *player) anyRule(key string) *policy.Rule {
	modes := []v1alpha1.Mode{v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.DryRun, v1alpha1.Suspend}
	r := fixture.Rule(key, fixture.TTL(time.Duration(p.Intn(5))*time.Hour), fixture.Mode(modes[p.Intn(5)]))
	if key == "c" {
		r.Mark = "mark"
	}
	if p.Intn(2) == 0 {
		r.Keep = p.Intn(4)
	}
	switch p.Intn(5) {
	case 0:
		r.Capacity = policy.Capacity{Bounded: true, Max: p.Intn(5)}
	case 1:
		r.Capacity = policy.Capacity{Bounded: true, Max: p.Intn(9), Fair: true}
	case 2:
		r.Capacity = policy.Capacity{Bounded: true, ByQuota: true, Percent: 50}
	}
	if r.Capacity.Bounded && p.Intn(2) == 0 {
		r.TTL = policy.NeverTTL
	}
	r.Ledger, r.Unpermitted = p.Intn(2) == 0, p.Intn(6) == 0
	return r
}

// markGone reports that a deletion succeeded, sometimes of a version that is no longer known.
func (p *player) markGone() {
	uid := p.uid()
	row := p.model.rows[uid]
	if row == nil {
		return
	}
	s := row.Subject
	row.leaving = false
	if p.Intn(3) == 0 {
		s.ResourceVersion = "older"
	} else {
		row.gone = true
	}
	p.harness.MarkGone(s, p.now)
}

// putBack returns a subject that was taken; its DELETE may have been in flight.
func (p *player) putBack() {
	for uid := range p.out {
		p.reconsider(uid)
		return
	}
}

func (p *player) reconsider(uid types.UID) {
	p.harness.Reconsider(uid, p.now)
	delete(p.out, uid)
	if row := p.model.rows[uid]; row != nil {
		row.leaving = false
	}
}

// fail releases a subject that stays in the queue.
func (p *player) fail() {
	uid := p.uid()
	p.harness.Release(uid, p.now)
	if row := p.model.rows[uid]; row != nil {
		row.leaving = false
	}
}

// claim handles a due subject as a worker does.
func (p *player) claim(t *testing.T, uid types.UID) {
	row := p.model.rows[uid]
	subject, evaluations := p.model.rule(row)
	want, _ := policy.Decide(subject, evaluations, p.now)
	j, ok := p.harness.Claim(uid, p.now)
	if !ok || j.Verdict != want || j.Permit.Valid() != (want.Action == policy.Delete) {
		t.Fatalf("%s is %+v, known %v, permit %v; want %+v after %v", uid, j.Verdict, ok, j.Permit.Valid(), want, p.ops)
	}
	if marking := policy.EligibleSincePatchOf(subject, evaluations, p.now); !j.Permit.Valid() && j.Marking.Annotation() != marking.Annotation() {
		t.Fatalf("%s marked %q, want %q after %v", uid, j.Marking.Annotation(), marking.Annotation(), p.ops)
	}
	row.leaving = row.leaving || j.Permit.Valid()
	p.out[uid] = true
}

// wait advances the time to a whole minute, when subjects are due, or to shortly before one.
func (p *player) wait() {
	p.now = p.now.Truncate(time.Minute).Add(time.Duration(1+p.Intn(60)) * time.Minute)
	if p.Intn(2) == 0 {
		p.now = p.now.Add(-index.Ahead / 2)
	}
}

// step makes a random call and compares.
func (p *player) step(t *testing.T) {
	moves := map[string]func(){
		"replace": p.replace, "apply": p.apply, "late": p.applyLate, "again": p.applyAgain, "stale": p.applyStale, "refresh": p.refresh, "relay": p.replaceNamespace,
		"forget": p.forget, "distrust": p.markIncomplete, "book": p.setSnapshot, "gone": p.markGone, "back": p.putBack, "fail": p.fail, "wait": p.wait,
	}
	names := []string{
		"replace", "apply", "apply", "apply", "apply", "late", "again", "stale", "refresh", "relay", "relay", "forget", "distrust", "book", "book",
		"gone", "back", "back", "back", "fail", "wait", "wait", "wait",
	}
	name := names[p.Intn(len(names))]
	p.ops = append(p.ops, name)
	moves[name]()
	p.compare(t)
	due := p.model.due(p.now)
	taken := p.harness.take(p.now)
	for _, uid := range taken {
		if !slices.Contains(due, uid) && !p.model.isExpected(types.UID(uid), p.now) {
			t.Fatalf("%s was taken after %v", uid, p.ops)
		}
	}
	for _, uid := range due {
		if !slices.Contains(taken, uid) && !p.out[types.UID(uid)] {
			t.Fatalf("%s was not taken after %v", uid, p.ops)
		}
	}
	for _, uid := range taken {
		if !slices.Contains(due, uid) {
			if p.Intn(2) == 0 {
				p.harness.Reconsider(types.UID(uid), p.now)
			}
			if again := p.harness.take(p.now); slices.Contains(again, uid) {
				t.Fatalf("%s was taken twice ahead after %v", uid, p.ops)
			}
			continue
		}
		if uid := types.UID(uid); !p.out[uid] {
			if p.out[uid] = true; p.Intn(3) == 0 {
				p.claim(t, uid)
				p.compare(t)
			} else {
				p.reconsider(uid)
			}
		}
	}
}

// shown is what Scan passes about a subject.
type shown struct {
	Subject     policy.Subject
	Evaluations []policy.Evaluation
}

// shownOf returns the evaluations that Scan passes, of all on which the decisions of the model depend: not those of rules that
// certainly do not select the subject, if it has no mark of theirs.
func shownOf(evaluations []policy.Evaluation) (shown []policy.Evaluation) {
	for _, e := range evaluations {
		if !e.Facts.Selected && e.Facts.Start.IsZero() {
			e.Facts = policy.Facts{}
			if e.Known && !e.Rule.Unpermitted {
				continue
			}
		}
		shown = append(shown, e)
	}
	return shown
}

// compare compares the index with the model for every subject, and checks that the index is consistent.
func (p *player) compare(t *testing.T) {
	t.Helper()
	if err := p.harness.Consistent(); err != nil {
		t.Fatalf("after %v: %v", p.ops, err)
	}
	want, got := map[types.UID]shown{}, map[types.UID]shown{}
	for uid, row := range p.model.rows {
		if !row.gone {
			subject, evaluations := p.model.rule(row)
			want[uid] = shown{subject, shownOf(evaluations)}
		}
	}
	p.harness.Scan(func(s policy.Subject, evaluations []policy.Evaluation) {
		got[s.UID] = shown{s, slices.Clone(evaluations)}
	})
	if !maps.EqualFunc(want, got, sameShown) {
		sameRule := cmp.Comparer(func(a, b *policy.Rule) bool { return a == b })
		t.Fatalf("after %v: -want +got\n%s", p.ops, cmp.Diff(want, got, sameRule, cmpopts.EquateErrors(), cmpopts.EquateEmpty()))
	}
	p.compareVersions(t, got)
	for _, r := range p.model.snapshot.Rules(fixture.Jobs.GroupKind()) {
		has := p.model.synced && p.model.listing.Kind == fixture.Jobs && p.model.layoutIn(r.Namespace).Has(r.Key)
		for uid, row := range p.model.rows {
			has = has && (placeOf(uid) != r.Namespace || row.came.Layout.Has(r.Key))
		}
		if p.harness.Has(p.model.snapshot, r) != has {
			t.Fatalf("has facts about %s: %v after %v", r.ID, !has, p.ops)
		}
	}
}

// compareVersions checks that what Scan passes is the same as before in each namespace whose version is the same, and that
// ScanNamespaces passes it too.
func (p *player) compareVersions(t *testing.T, all map[types.UID]shown) {
	t.Helper()
	versions := map[string]uint64{}
	for name, namespace := range p.harness.Namespaces() {
		versions[name] = namespace.Version
		here, before := map[types.UID]shown{}, map[types.UID]shown{}
		p.harness.ScanNamespaces(sets.New(name), func(s policy.Subject, evaluations []policy.Evaluation, _ policy.Was) {
			here[s.UID] = shown{s, slices.Clone(evaluations)}
		})
		for uid, s := range all {
			if _, found := here[uid]; found != (s.Subject.Namespace == name) {
				t.Fatalf("%s in namespace %q: passed for namespace %q: %v, after %v", uid, s.Subject.Namespace, name, found, p.ops)
			}
		}
		for uid, s := range p.shown {
			if s.Subject.Namespace == name {
				before[uid] = s
			}
		}
		if p.shownAt[name] == namespace.Version && !maps.EqualFunc(before, here, sameShown) {
			t.Fatalf("namespace %q changed without another version after %v", name, p.ops)
		}
	}
	p.shown, p.shownAt = all, versions
}

func sameShown(a, b shown) bool {
	return a.Subject == b.Subject && slices.EqualFunc(a.Evaluations, b.Evaluations, sameEvaluation)
}

func sameEvaluation(a, b policy.Evaluation) bool {
	return a.Rule == b.Rule && a.Rank == b.Rank && a.Known == b.Known && reflect.DeepEqual(a.Facts, b.Facts)
}

// TestAgainstTheModel: after any sequence of calls, every subject has the rank result of ranking all of them. At every time
// exactly the subjects are due that a full scan finds due.
func TestAgainstTheModel(t *testing.T) {
	for seed := range long.Cases(80) {
		p := newPlayer(int64(seed))
		for range 120 {
			p.step(t)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
