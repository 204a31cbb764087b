package index_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// model is what an Index promises, in the plainest way: all rows, judged one by one whenever somebody asks.
type model struct {
	rows    map[types.UID]draft
	gone    map[types.UID]string // the version that was removed
	book    *policy.Book
	listing index.Listing
	synced  bool
}

func (m *model) decide(uid types.UID, now time.Time) policy.Verdict {
	row := m.rows[uid]
	var rulings []policy.Ruling
	page := m.book.Page(jobs.GroupKind(), row.Namespace)
	for _, r := range page.Rules {
		ruling := policy.Ruling{Rule: r}
		if c := slices.Index(m.listing.Layout.Columns, r.Key); c >= 0 && m.synced && m.book.Knows(row.Namespace) {
			ruling.Facts, ruling.Known = row.Facts[c], true
		}
		rulings = append(rulings, ruling)
	}
	verdict, _ := policy.Decide(page.See(row.Subject), rulings, now)
	return verdict
}

// due lists what may be deleted, sorted.
func (m *model) due(now time.Time) []string {
	var due []string
	for uid, row := range m.rows {
		if m.gone[uid] != row.ResourceVersion && m.decide(uid, now).Action == policy.Delete {
			due = append(due, string(uid))
		}
	}
	slices.Sort(due)
	return due
}

// keep forgets removals of versions that are no more.
func (m *model) keep() {
	for uid, version := range m.gone {
		if m.rows[uid].ResourceVersion != version {
			delete(m.gone, uid)
		}
	}
}

// player does the same to an index and to its model.
type player struct {
	*rand.Rand
	world    *world
	model    *model
	now      time.Time
	policies []*policy.Policy
	versions int
	ops      []string
}

var keys = []string{"a", "b", "c"}

func newPlayer(seed int64) *player {
	p := &player{Rand: rand.New(rand.NewSource(seed)), now: now, world: &world{}}
	p.world.Index = index.New(jobs.GroupKind(), func() { p.world.wakes++ })
	p.model = &model{rows: map[types.UID]draft{}, gone: map[types.UID]string{}, book: &policy.Book{}, listing: index.Listing{Layout: columns[""]}}
	return p
}

func (p *player) uid() types.UID { return types.UID(fmt.Sprint("u", p.Intn(12))) }

// row is a random subject with facts for each column.
func (p *player) row(uid types.UID, version string, l *index.Layout) draft {
	r := draft{Layout: l, Subject: policy.Subject{UID: uid, Name: string(uid), ResourceVersion: version, Created: now.Add(-time.Hour)}}
	r.Namespace = []string{"team-a", "team-b", "unborn", "kube-system", ""}[p.Intn(5)]
	if p.Intn(8) == 0 {
		r.Flags = policy.IsHeld
	}
	for range l.Columns {
		r.Facts = append(r.Facts, policy.Facts{
			Selected: p.Intn(6) > 0, Eligible: p.Intn(4) > 0, Start: now.Add(time.Duration(p.Intn(600)) * time.Minute),
		})
	}
	return r
}

func (p *player) version() string {
	p.versions++
	return fmt.Sprint(p.versions)
}

func (p *player) replace() {
	order := slices.Clone(keys)
	p.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	listing := index.Listing{ID: p.model.listing.ID + 1, Kind: jobs, Layout: &index.Layout{Columns: order[:1+p.Intn(len(order))]}}
	fresh := map[types.UID]draft{}
	var rows []*index.Row
	for range p.Intn(14) {
		uid := p.uid()
		if _, listed := fresh[uid]; listed {
			continue
		}
		version := p.version()
		if old, ok := p.model.rows[uid]; ok && p.Intn(2) == 0 {
			version = old.ResourceVersion
		}
		r := p.row(uid, version, listing.Layout)
		fresh[uid] = r
		rows = append(rows, index.NewRow(r.Subject, r.Layout, r.Facts...))
	}
	p.world.Replace(listing, rows, p.now)
	p.model.listing, p.model.rows, p.model.synced = listing, fresh, true
	for uid, r := range fresh {
		r.Facts = slices.Clone(r.Facts)
		p.model.rows[uid] = r
	}
	p.model.keep()
}

func (p *player) apply() {
	r := p.row(p.uid(), p.version(), p.model.listing.Layout)
	p.world.Apply(p.model.listing.ID, index.NewRow(r.Subject, r.Layout, r.Facts...), p.now)
	if p.model.listing.ID > 0 {
		p.model.rows[r.UID] = r
		p.model.keep()
	}
}

func (p *player) applyStale() {
	r := p.row(p.uid(), p.version(), columns["a"])
	p.world.Apply(1<<40, index.NewRow(r.Subject, r.Layout, r.Facts...), p.now)
	p.world.Forget(1<<40, p.uid(), p.now)
	p.world.Distrust(1 << 40)
}

func (p *player) forget() {
	uid := p.uid()
	p.world.Forget(p.model.listing.ID, uid, p.now)
	delete(p.model.rows, uid)
	p.model.keep()
}

func (p *player) distrust() {
	p.world.Distrust(p.model.listing.ID)
	p.model.synced = false
}

// setBook changes the policies, or the namespaces alone.
func (p *player) setBook() {
	if p.Intn(2) == 0 {
		p.policies = p.anyPolicies()
	}
	known := map[string]policy.Namespace{}
	for _, namespace := range []string{"team-a", "team-b", "unborn"} {
		if p.Intn(4) > 0 {
			known[namespace] = policy.Namespace{Labels: labels.Set{"tier": []string{"ci", "prod"}[p.Intn(2)]}, Held: p.Intn(4) == 0}
		}
	}
	p.model.book = policy.NewBook(p.policies, known, policy.DefaultProtection())
	p.world.SetBook(p.model.book, p.now)
}

func (p *player) anyPolicies() []*policy.Policy {
	var policies []*policy.Policy
	for _, key := range keys {
		if p.Intn(4) == 0 {
			continue
		}
		r := rule(key, ttl(time.Duration(p.Intn(5))*time.Hour),
			mode([]v1alpha1.Mode{v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.DryRun, v1alpha1.Suspended}[p.Intn(5)]))
		policies = append(policies, policyOf(r, []string{"", "", "ci", "prod"}[p.Intn(4)]))
	}
	return policies
}

func (p *player) markGone() {
	uid := p.uid()
	row, ok := p.model.rows[uid]
	if !ok {
		return
	}
	s := row.Subject
	if p.Intn(3) == 0 {
		s.ResourceVersion = "older"
	} else {
		p.model.gone[uid] = s.ResourceVersion
	}
	p.world.MarkGone(s, p.now)
}

func (p *player) wait() { p.now = p.now.Add(time.Duration(p.Intn(60)) * time.Minute) }

// step does something at random and compares.
func (p *player) step(t *testing.T) {
	moves := map[string]func(){
		"replace": p.replace, "apply": p.apply, "stale": p.applyStale, "forget": p.forget, "distrust": p.distrust,
		"book": p.setBook, "gone": p.markGone, "wait": p.wait,
	}
	names := []string{"replace", "apply", "apply", "apply", "apply", "stale", "forget", "distrust", "book", "gone", "wait", "wait", "wait"}
	name := names[p.Intn(len(names))]
	p.ops = append(p.ops, name)
	moves[name]()
	if err := p.world.Consistent(); err != nil {
		t.Fatalf("after %v: %v", p.ops, err)
	}
	taken := p.world.take(p.now)
	got := slices.Clone(taken)
	slices.Sort(got)
	if diff := cmp.Diff(p.model.due(p.now), got); diff != "" {
		t.Fatalf("due after %v: -want +got\n%s", p.ops, diff)
	}
	for _, uid := range taken {
		p.world.Reconsider(types.UID(uid), p.now)
	}
}

// compareJudgements asks both about every subject.
func (p *player) compareJudgements(t *testing.T) {
	for uid, row := range p.model.rows {
		j, ok := p.world.Judge(uid, p.now)
		p.world.Return(uid, p.now)
		got, warrant := j.Verdict, j.Warrant
		if gone := p.model.gone[uid] == row.ResourceVersion; ok == gone {
			t.Fatalf("%s known: %v after %v", uid, ok, p.ops)
		} else if gone {
			continue
		}
		if diff := cmp.Diff(p.model.decide(uid, p.now), got); diff != "" {
			t.Fatalf("%s after %v: -want +got\n%s", uid, p.ops, diff)
		}
		if warrant.Valid() != (got.Action == policy.Delete) {
			t.Fatalf("%s is %s and the warrant valid: %v", uid, got.Action, warrant.Valid())
		}
	}
}

// TestAgainstTheModel: whatever happens, and in whatever order, at every time exactly that is due which a full scan
// finds due.
func TestAgainstTheModel(t *testing.T) {
	games, moves := 400, 120
	if testing.Short() {
		games = 40
	}
	for seed := range games {
		p := newPlayer(int64(seed))
		for range moves {
			p.step(t)
			p.compareJudgements(t)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
