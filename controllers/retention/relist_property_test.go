// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/long"
)

// apiServer is a model of an API server: its objects and its history. The resourceVersion of a change is its position in
// the history.
type apiServer struct {
	mu      sync.Mutex
	objects map[string]*draft
	history []written
}

type written struct {
	*draft
	deleted bool
}

func (a *apiServer) write(d *draft, deleted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d.ResourceVersion = strconv.Itoa(len(a.history) + 1)
	a.history = append(a.history, written{d, deleted})
	if deleted {
		delete(a.objects, d.Name)
	} else {
		a.objects[d.Name] = d
	}
}

func (a *apiServer) list() []*draft {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Values(a.objects), func(x, y *draft) int { return strings.Compare(x.Name, y.Name) })
}

// reflector lists and watches the model for one source. Pages and events are evaluated by the rules in force when they are
// read, and reach the sink later.
type reflector struct {
	*source
	pages    []*draft // of the current list, not read yet
	rows     []*index.FactRow
	listing  bool
	read     int        // the position of the list or the watch in the history
	received []received // events not passed to the sink yet
}

type received struct {
	row  *index.FactRow
	gone types.UID
}

func (r *reflector) begin(a *apiServer) {
	r.pages, r.rows, r.received, r.read, r.listing = a.list(), nil, nil, len(a.history), true
}

func (r *reflector) page(n int) {
	for ; n > 0 && len(r.pages) > 0; n-- {
		r.rows, r.pages = append(r.rows, r.answered(r.pages[0])), r.pages[1:]
	}
}

func (r *reflector) end() {
	if r.listing && len(r.pages) == 0 {
		r.sink.Replace(r.rows)
		r.listing = false
	}
}

func (r *reflector) watch(a *apiServer) {
	if r.listing || r.read == len(a.history) {
		return
	}
	c := a.history[r.read]
	r.read++
	if c.deleted {
		r.received = append(r.received, received{gone: c.UID})
	} else {
		r.received = append(r.received, received{row: r.answered(c.draft)})
	}
}

func (r *reflector) tell() {
	if r.listing || len(r.received) == 0 {
		return
	}
	next := r.received[0]
	r.received = r.received[1:]
	if next.row == nil {
		r.sink.Forget(next.gone)
	} else {
		r.sink.Apply(next.row)
	}
}

func (r *reflector) breakOff(a *apiServer) {
	if !r.listing {
		r.sink.Lost(nil)
	}
	r.begin(a)
}

// relistGame makes listings, watches and edits overlap.
type relistGame struct {
	*rand.Rand
	w     *harness
	api   *apiServer
	all   []*reflector // by source
	rules map[string][]*policy.Rule
	moves []string
}

var teams = []string{"team-a", "team-b", "team-c"}

func far(r *policy.Rule) { r.TTL = 10_000 * time.Hour }

// editOwn changes or removes the rules of a namespace.
func (g *relistGame) editOwn() {
	team := teams[g.IntN(len(teams))]
	g.rules[team] = nil
	for range g.IntN(3) {
		key := fmt.Sprint("own ", g.IntN(4))
		g.rules[team] = append(g.rules[team], own(team, key, far, func(r *policy.Rule) { r.ID.Policy = team + "/" + key }))
	}
	g.use()
}

// editCluster changes the rules about all namespaces. If they need other facts, that opens another source.
func (g *relistGame) editCluster() {
	g.rules[""] = []*policy.Rule{fixture.Rule("a", far)}
	if g.IntN(2) == 0 {
		g.rules[""] = append(g.rules[""], fixture.Rule(fmt.Sprint("b", g.IntN(3)), far))
	}
	g.use()
}

func (g *relistGame) use() {
	var rules []*policy.Rule
	for _, where := range append([]string{""}, teams...) {
		rules = append(rules, g.rules[where]...)
	}
	g.w.use(rules...)
	g.attach()
}

// attach starts to list for new sources.
func (g *relistGame) attach() {
	for n := len(g.all); n < g.w.opened(); n++ {
		r := &reflector{source: g.w.source(n)}
		r.begin(g.api)
		r.set(func() {
			r.source.listing = func(namespace string) ([]*draft, error) {
				if g.IntN(8) == 0 {
					return nil, fmt.Errorf("no answer")
				}
				return slices.DeleteFunc(g.api.list(), func(d *draft) bool { return d.Namespace != namespace }), nil
			}
			r.source.slow = time.Duration(g.IntN(3)) * time.Second
			r.source.refuses = g.IntN(8) == 0
		})
		g.all = append(g.all, r)
	}
}

func (g *relistGame) mutate() {
	name := fmt.Sprint("o", g.IntN(8))
	old := g.api.objects[name]
	switch {
	case old == nil:
		d := row(name, g.w.began, in(teams[g.IntN(len(teams))]))
		d.UID = types.UID(fmt.Sprint("uid-", len(g.api.history)))
		g.api.write(d, false)
	case g.IntN(4) == 0:
		d := *old
		g.api.write(&d, true)
	default:
		d := *old
		g.api.write(&d, false)
	}
}

func (g *relistGame) move() {
	moves := []struct {
		name string
		do   func(r *reflector)
	}{
		{"mutate", func(*reflector) { g.mutate() }},
		{"page", func(r *reflector) { r.page(1 + g.IntN(4)) }},
		{"end", func(r *reflector) { r.page(8 * g.IntN(2)); r.end() }},
		{"watch", func(r *reflector) { r.watch(g.api) }},
		{"watch", func(r *reflector) { r.watch(g.api) }},
		{"tell", func(r *reflector) { r.tell() }},
		{"tell", func(r *reflector) { r.tell() }},
		{"break", func(r *reflector) { r.breakOff(g.api) }},
		{"own", func(*reflector) { g.editOwn() }},
		{"own", func(*reflector) { g.editOwn() }},
		{"wait", func(*reflector) { bubble.Pass(time.Duration(g.IntN(6000)) * time.Millisecond) }},
	}
	if g.IntN(30) == 0 {
		g.moves = append(g.moves, "cluster")
		g.editCluster()
		return
	}
	m, n := moves[g.IntN(len(moves))], len(g.all)-1
	if n > 0 && g.IntN(3) == 0 {
		n-- // the previous source runs until the next one has listed
	}
	g.moves = append(g.moves, fmt.Sprint(m.name, " ", n))
	m.do(g.all[n])
	synctest.Wait()
}

// rest ends all work in flight, without other events.
func (g *relistGame) rest() {
	for _, r := range g.all {
		r.page(len(r.pages))
		r.end()
		for r.read < len(g.api.history) {
			r.watch(g.api)
		}
		for len(r.received) > 0 {
			r.tell()
		}
	}
	g.moves = append(g.moves, "rest")
	bubble.Pass(2 * time.Minute)
}

// check compares Has with the rows. At rest there are facts for every rule, about every object.
func (g *relistGame) check(t *testing.T, atRest bool) {
	t.Helper()
	if len(g.w.Kinds()) == 0 {
		return
	}
	x := g.w.Kinds()[0].Index
	seen, lacking := map[string]bool{}, map[*policy.Rule]string{}
	x.Scan(func(s policy.Subject, evaluations []policy.Evaluation) {
		seen[s.Name+"@"+s.ResourceVersion] = true
		for _, r := range evaluations {
			if !r.Known {
				lacking[r.Rule] = s.Name
			}
		}
	})
	for _, r := range g.w.snapshot.Rules(fixture.Jobs.GroupKind()) {
		has := x.Has(g.w.snapshot, r)
		if name := lacking[r]; has && name != "" {
			t.Fatalf("Has reports facts for %s, but there are none about %s, after %v", r.ID, name, g.moves)
		}
		if atRest && !has {
			t.Fatalf("Has reports no facts for %s at rest, after %v", r.ID, g.moves)
		}
	}
	if !atRest {
		return
	}
	want := map[string]bool{}
	for _, d := range g.api.objects {
		want[d.Name+"@"+d.ResourceVersion] = true
	}
	if !maps.Equal(want, seen) {
		t.Fatalf("the index has %v, the API server %v, after %v", seen, want, g.moves)
	}
}

// TestRelistsUnderEdits: listings, broken watches and edits of all policies overlap in any order. Has never reports facts
// for a rule while a row has none, and at rest it reports facts for every rule.
func TestRelistsUnderEdits(t *testing.T) {
	for seed := range long.Cases(50) {
		runInBubble(t, fmt.Sprint(seed), retention.Options{}, func(t *testing.T, w *harness) {
			g := &relistGame{Rand: random(uint64(seed)), w: w, api: &apiServer{objects: map[string]*draft{}},
				rules: map[string][]*policy.Rule{}}
			for range 4 {
				g.mutate()
			}
			g.editCluster()
			for range 3 {
				for range 40 {
					g.move()
					g.check(t, false)
				}
				g.rest()
				g.check(t, true)
			}
		})
	}
}
