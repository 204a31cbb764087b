// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/test/long"
)

// one is a budget of one deletion within two ticks.
var one = &ledger.Budget{Max: 1, Window: 2 * tick}

// explored are the bounds of the explorations in every test run.
var explored = map[string]bounds{
	"one leader, other clients":              {things: 1, finalizers: 1, leaders: 1, losses: 2, edits: 1, removals: 1, births: 1, opens: 2},
	"one leader, refusals and withdrawals":   {things: 1, leaders: 1, losses: 2, refusals: 1, edits: 1, whims: 1, opens: 3},
	"one leader, two objects":                {things: 2, leaders: 1, losses: 1, edits: 1, removals: 1, opens: 3},
	"two leaders, a lost response":           {things: 1, finalizers: 1, leaders: 2, losses: 1, opens: 2},
	"two leaders, another client deletes":    {things: 1, leaders: 2, losses: 1, removals: 1, opens: 2},
	"one leader, doubt ends by RequestLife":  {things: 1, leaders: 1, losses: 2, opens: 3, lapses: 2},
	"two leaders, doubt ends by RequestLife": {things: 1, leaders: 2, losses: 1, opens: 1, lapses: 1},
	"one leader, a budget":                   {things: 3, leaders: 1, losses: 1, ticks: 4, opens: 3, budget: one},
	"two leaders that were standbys":         {things: 1, leaders: 2, losses: 1, removals: 1, opens: 1, standby: true},
	"two leaders, a budget, a slow clock":    {things: 2, leaders: 2, ticks: 3, opens: 2, budget: one, skew: ledger.Skew},
	"two leaders, a budget, a fast clock":    {things: 2, leaders: 2, ticks: 4, opens: 2, budget: one, skew: -ledger.Skew},
}

// exploredLong are more explorations with SUNSET_LONG=1, which take about six times as long.
var exploredLong = map[string]bounds{
	"one leader, larger bounds":                {things: 1, finalizers: 1, leaders: 1, losses: 3, refusals: 1, edits: 1, removals: 1, births: 1, opens: 3},
	"one leader, two objects, larger bounds":   {things: 2, finalizers: 1, leaders: 1, losses: 2, edits: 1, removals: 1, opens: 3},
	"one leader, three objects":                {things: 3, leaders: 1, losses: 1, edits: 1, opens: 3},
	"two leaders, two lost responses":          {things: 1, leaders: 2, losses: 2, opens: 2},
	"two leaders, another client changes it":   {things: 1, finalizers: 1, leaders: 2, losses: 1, edits: 1, opens: 2},
	"two leaders, another object of the name":  {things: 1, leaders: 2, removals: 1, births: 1, opens: 2},
	"two leaders, two objects":                 {things: 2, leaders: 2, opens: 2},
	"two leaders, a budget, a lost response":   {things: 2, leaders: 2, losses: 1, ticks: 3, opens: 2, budget: one, skew: -ledger.Skew},
	"two leaders, two DELETEs and RequestLife": {things: 1, leaders: 2, losses: 1, opens: 2, lapses: 1},
	"two standbys, two DELETEs":                {things: 1, leaders: 2, losses: 1, removals: 1, opens: 2, standby: true},
	"three leaders":                            {things: 1, leaders: 3, opens: 2},
	"three leaders that were standbys":         {things: 1, leaders: 3, opens: 2, standby: true},
	"two standbys, another object, an edit":    {things: 1, leaders: 2, losses: 1, edits: 1, removals: 1, births: 1, opens: 2, standby: true},
}

// exploredArchives are explorations of rules that archive.
var exploredArchives = map[string]bounds{
	"one leader":              {things: 1, finalizers: 1, leaders: 1, losses: 1, edits: 1, removals: 1, opens: 2, archives: true, lies: 1},
	"one leader, RequestLife": {things: 1, leaders: 1, losses: 2, edits: 1, opens: 2, lapses: 1, archives: true},
	"two leaders":             {things: 1, leaders: 2, losses: 1, removals: 1, opens: 1, archives: true},
}

// exploredArchivesLong are more of them with SUNSET_LONG=1.
var exploredArchivesLong = map[string]bounds{
	"one leader, larger bounds": {things: 1, finalizers: 1, leaders: 1, losses: 2, edits: 1, removals: 1, opens: 2, archives: true, lies: 1},
	"one leader, two objects":   {things: 2, leaders: 1, losses: 1, edits: 1, removals: 1, opens: 3, archives: true, lies: 1},
	"two leaders, a change":     {things: 1, finalizers: 1, leaders: 2, losses: 1, edits: 1, removals: 1, opens: 2, archives: true},
	"three leaders":             {things: 1, leaders: 3, opens: 1, archives: true},
	"two standbys":              {things: 1, leaders: 2, losses: 1, removals: 1, opens: 1, archives: true, standby: true},
}

// TestInterleavings explores every order of events within the bounds. Requests have their effect late or never, and responses are
// lost. Former leaders continue, or have stopped. Other clients change, delete and create objects at any time.
func TestInterleavings(t *testing.T) {
	exploreAll(t, explored, exploredLong)
}

// TestInterleavingsWithArchives explores the same with rules that archive. Records are lost although the store claims to have them, and
// the index is written late or never.
func TestInterleavingsWithArchives(t *testing.T) {
	exploreAll(t, exploredArchives, exploredArchivesLong)
}

// exploreAll explores within the bounds of always and, with SUNSET_LONG=1, of more.
func exploreAll(t *testing.T, always, more map[string]bounds) {
	all := maps.Clone(always)
	if long.Enabled() {
		maps.Copy(all, more)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			x, n, err := explore(all[name], 0)
			if err != nil {
				t.Fatalf("%v, after\n%v", err, x)
			}
			t.Logf("%d states, %d steps between them, %.1g schedules, in %v", len(x.schedules), x.steps, n,
				time.Since(began).Round(time.Millisecond))
		})
	}
}

// exploration visits every reachable state once.
type exploration struct {
	schedules map[key]float64 // by state: number of ways to continue to an end
	steps     int
	path      []move
	most      int // maximum number of states; 0 for all
}

var errMost = errors.New("the maximum number of states is reached")

func explore(b bounds, most int) (*exploration, float64, error) {
	x := &exploration{schedules: map[key]float64{}, most: most}
	n, err := x.from(newWorld(b))
	return x, n, err
}

// from explores everything that can happen after a state. It fails with the first broken guarantee; path is then the schedule.
func (x *exploration) from(w *modelState) (float64, error) {
	k := w.key()
	if n, ok := x.schedules[k]; ok {
		return n, nil
	}
	if x.most > 0 && len(x.schedules) >= x.most {
		return 0, errMost
	}
	x.schedules[k] = 0
	if w.isSettled() {
		if err := w.settled(); err != nil {
			return 0, err
		}
	}
	all, goesOn, err := x.on(w)
	if err == nil && !goesOn {
		err = w.ended()
	}
	x.schedules[k] = all
	return all, err
}

// on makes each possible move. goesOn reports whether one of them must happen eventually.
func (x *exploration) on(w *modelState) (all float64, goesOn bool, err error) {
	for _, m := range w.moves() {
		next, err := w.make(m)
		if errors.Is(err, errNothing) {
			continue
		}
		goesOn = goesOn || w.mustHappen(m)
		x.steps++
		x.path = append(x.path, m)
		var n float64
		if err == nil {
			n, err = x.from(next)
		}
		if err != nil {
			return 0, false, err
		}
		x.path = x.path[:len(x.path)-1]
		all += n
	}
	return max(all, 1), goesOn, nil
}

func (x *exploration) String() string {
	var b strings.Builder
	for i, m := range x.path {
		fmt.Fprintf(&b, "%3d. %v\n", i+1, m)
	}
	return b.String()
}
