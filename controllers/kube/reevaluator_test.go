// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// turns is a sink that keeps the latest row of each subject, and counts concurrent calls.
type turns struct {
	sink
	busy      atomic.Bool
	overtaken atomic.Int64

	mu     sync.Mutex
	latest map[types.UID]*index.FactRow
}

func (s *turns) turn(do func(latest map[types.UID]*index.FactRow)) {
	if !s.busy.CompareAndSwap(false, true) {
		s.overtaken.Add(1)
		return
	}
	defer s.busy.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.latest)
}

func (s *turns) Replace(rows []*index.FactRow) {
	s.turn(func(latest map[types.UID]*index.FactRow) {
		clear(latest)
		for _, row := range rows {
			latest[row.Subject().UID] = row
		}
	})
}

func (s *turns) Apply(row *index.FactRow) {
	s.turn(func(latest map[types.UID]*index.FactRow) { latest[row.Subject().UID] = row })
}

func (s *turns) Forget(uid types.UID) {
	s.turn(func(latest map[types.UID]*index.FactRow) { delete(latest, uid) })
}

// take takes a row that was read outside of the watch, as an index does.
func (s *turns) take(row *index.FactRow) {
	s.turn(func(latest map[types.UID]*index.FactRow) {
		if row == nil {
			return
		}
		known := latest[row.Subject().UID]
		if known != nil && versionOf(row) > versionOf(known) {
			latest[row.Subject().UID] = row
		}
	})
}

// takeAll takes a list of a namespace, as an index does.
func (s *turns) takeAll(rows []*index.FactRow) bool {
	s.turn(func(latest map[types.UID]*index.FactRow) {
		for _, row := range rows {
			known := latest[row.Subject().UID]
			if known != nil && versionOf(row) >= versionOf(known) {
				latest[row.Subject().UID] = row
			}
		}
	})
	return true
}

func versionOf(row *index.FactRow) int {
	version, _ := strconv.Atoi(row.Subject().ResourceVersion)
	return version
}

// says returns the last results for a ConfigMap; empty if it has no row.
func (s *turns) says(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if row := s.latest[types.UID("uid-"+name)]; row != nil {
		return strings.Join(says(row), " ")
	}
	return ""
}

// TestReevaluatorLastResultIsCurrent: references and ConfigMaps change, lists and reads are late, and doubt begins and
// ends. The last results are always current, and the calls of the sink never overlap.
func TestReevaluatorLastResultIsCurrent(t *testing.T) {
	games, moves := 4, 200
	if testing.Short() {
		games = 2
	}
	for seed := range games {
		inUse(t, nil, func(u *referred) {
			source := u.cluster.Open(u.ruleSet(fixture.ConfigMaps, nil, unused, "references.by.exists(r, r.name == 'web-0')")).(fullSource)
			k := &turns{latest: map[types.UID]*index.FactRow{}}
			stop := running(u.T, source, k)
			var all sync.WaitGroup
			var over atomic.Bool
			playReads := func(r *rand.Rand) { u.playReads(r, source, k) }
			for i, play := range []func(*rand.Rand){u.playReferences, u.playReferences, playReads, playReads} {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				all.Go(func() {
					for !over.Load() {
						play(r)
						time.Sleep(max(0, time.Duration(r.IntN(40)-20)) * time.Millisecond)
					}
				})
			}
			r := rand.New(rand.NewPCG(uint64(seed), uint64(moves)))
			for i := range moves {
				u.playObjects(r)
				time.Sleep(max(0, time.Duration(r.IntN(40)-20)) * time.Millisecond)
				if i == moves/2 {
					u.event("ERROR", answer.StatusText(410))
					time.Sleep(time.Second) // until it is listed again: earlier changes would be missed
				}
			}
			over.Store(true)
			all.Wait()
			u.references.Replace("Pod", u.pods(func(pod int) bool { return pod%2 == 0 }))
			bubble.Pass(time.Minute)
			for i := range names {
				name := fmt.Sprint("c", i)
				if got, want := k.says(name), u.wanted(name); got != want {
					t.Errorf("seed %d: last results for %s %q, want %q", seed, name, got, want)
				}
			}
			expect.Equal(t, "concurrent calls", 0, k.overtaken.Load())
			stop()
		})
	}
}

// slowlyUnused is unused, with an evaluation that takes a few hundred microseconds.
func slowlyUnused() string {
	numbers := "[" + strings.Repeat("1,", 40) + "1]"
	return fmt.Sprintf("%[1]s && %[2]s.all(a, %[2]s.all(b, a + b == 2))", unused, numbers)
}

// TestReferencesThatChangeDuringAList: the list evaluates these objects again.
func TestReferencesThatChangeDuringAList(t *testing.T) {
	inUse(t, nil, func(u *referred) {
		for i := range 300 {
			u.server.objects = append(u.server.objects, configAt(fmt.Sprint("c", i), "1"))
		}
		source, k := u.cluster.Open(u.ruleSet(fixture.ConfigMaps, nil, slowlyUnused())).(fullSource), &turns{latest: map[types.UID]*index.FactRow{}}
		stop := running(u.T, source, k)
		defer stop()
		bubble.Pass(time.Second)
		for round := range 10 {
			var listing sync.WaitGroup
			listing.Go(func() { expect.NoError(u.T, source.List(u.ctx, "team-a", nil, k.takeAll)) })
			for range 50 { // by then the list has evaluated the first objects
				expect.NoError(u.T, source.Confirm(policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"}))
			}
			want := "yes"
			if u.refer("web"); round%2 == 0 {
				u.refer("web", "c1")
				want = "no"
			}
			listing.Wait()
			bubble.Pass(time.Second)
			expect.Equal(u.T, fmt.Sprint("result of round ", round), want, k.says("c1"))
		}
	})
}

// TestListDelaysNoDeletion: Sunset evaluates an object that it is about to delete in the middle of a list.
func TestListDelaysNoDeletion(t *testing.T) {
	inUse(t, []string{slowlyUnused()}, func(u *referred) {
		for i := range 1000 {
			u.server.objects = append(u.server.objects, configAt(fmt.Sprint("c", i), "1"))
		}
		s := policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"}
		least := 500 // of about 1,000 evaluations in between, unless the other goroutine is not scheduled
		for range 10 {
			confirmed, over := 0, atomic.Bool{}
			var all sync.WaitGroup
			all.Go(func() {
				for ; !over.Load(); confirmed++ {
					if err := u.source.Confirm(s); err != nil {
						u.Error(err)
						return
					}
				}
			})
			err := u.source.List(u.ctx, "team-a", nil, func([]*index.FactRow) bool { return true })
			over.Store(true)
			all.Wait()
			expect.NoError(u.T, err)
			if confirmed >= least {
				return
			}
		}
		u.Error("the list of 1,000 objects delayed evaluations of another one")
	})
}

// names is the maximum number of ConfigMaps in this test, and of Pods that refer to them.
const names = 8

// pods returns the Pods that satisfy a condition. Each refers to the ConfigMap of its number, and to the next.
func (u *referred) pods(is func(pod int) bool) (all []references.Referrer) {
	for i := range names {
		if is(i) {
			all = append(all, podOf(i, i, (i+1)%names))
		}
	}
	return all
}

func podOf(i int, refersTo ...int) references.Referrer {
	r := references.Referrer{UID: types.UID(fmt.Sprint("web-", i)), Name: references.Name{Kind: "Pod", Namespace: "team-a", Name: fmt.Sprint("web-", i)}}
	for _, n := range refersTo {
		r.Targets = append(r.Targets, references.Target{Kind: references.ConfigMap, Namespace: "team-a", Name: fmt.Sprint("c", n)})
	}
	return r
}

func (u *referred) playReferences(r *rand.Rand) {
	pod := podOf(r.IntN(names), r.IntN(names), r.IntN(names))
	switch r.IntN(8) {
	case 0:
		u.references.Lose("Pod", errLost)
	case 1:
		u.references.Replace("Pod", u.pods(func(int) bool { return r.IntN(2) == 0 }))
	case 2, 3:
		u.references.Remove("Pod", pod.UID)
	case 4:
		pod.Err = errLost
		u.references.Put("Pod", pod)
	default:
		u.references.Put("Pod", pod)
	}
}

// playObjects creates, changes or deletes a ConfigMap.
func (u *referred) playObjects(r *rand.Rand) {
	name := fmt.Sprint("c", r.IntN(names))
	u.server.mu.Lock()
	u.versions++
	version, w := fmt.Sprint(100+u.versions), u.server.watch
	at := -1
	for i, o := range u.server.objects {
		if strings.Contains(o, fmt.Sprintf(`"name":%q`, name)) {
			at = i
		}
	}
	event, object := "MODIFIED", configAt(name, version)
	switch {
	case at < 0:
		event = "ADDED"
		u.server.objects = append(u.server.objects, object)
	case r.IntN(4) == 0:
		event = "DELETED"
		u.server.objects = append(u.server.objects[:at:at], u.server.objects[at+1:]...)
	default:
		u.server.objects[at] = object
	}
	u.server.mu.Unlock()
	answer.Event(w, event, object)
}

func (u *referred) playReads(r *rand.Rand, source fullSource, k *turns) {
	name := fmt.Sprint("c", r.IntN(names))
	s := policy.Subject{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name)}
	switch r.IntN(4) {
	case 0:
		_ = source.Read(u.ctx, s, k.take)
	case 1:
		_ = source.List(u.ctx, "team-a", nil, k.takeAll)
	default:
		_ = source.Confirm(s)
	}
}

// wanted returns the correct results for a ConfigMap at the end of the test; empty if it does not exist.
func (u *referred) wanted(name string) string {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	for _, o := range u.server.objects {
		if !strings.Contains(o, fmt.Sprintf(`"name":%q`, name)) {
			continue
		}
		answers := map[bool]string{true: "yes", false: "no"}
		by := u.references.By(references.Target{Kind: references.ConfigMap, Namespace: "team-a", Name: name})
		first := slices.ContainsFunc(by, func(b references.Name) bool { return b.Name == "web-0" })
		return answers[len(by) == 0] + " " + answers[first]
	}
	return ""
}
