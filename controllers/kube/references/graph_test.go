// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

const (
	role    references.Kind = "Role.rbac.authorization.k8s.io"
	binding references.Kind = "RoleBinding.rbac.authorization.k8s.io"
	widget  references.Kind = "Widget.example.com" // cluster-scoped, which the index does not know
	service references.Kind = "Service"
)

// walk is all objects of a graph by their source. Each lookup searches everything.
type walk map[string]*walked

type walked struct {
	name  references.SourceID // in the index
	about []references.Kind
	lost  bool
	all   map[types.UID]references.Referrer
}

// newWalk has a source for each kind, which is not known yet.
func newWalk() walk {
	return walk{
		"Role": {name: "Role", about: []references.Kind{binding}}, "Widget": {name: "Widget", about: []references.Kind{binding}},
		"RoleBinding": {name: "RoleBinding", about: []references.Kind{binding, role}}, "RoleBinding.v2": {name: "RoleBinding.v2", about: []references.Kind{binding}},
		"Service": {name: "Service", about: []references.Kind{service}}, "Pod": {name: "Pod", about: []references.Kind{service}},
	}
}

// each calls f with all objects.
func (w walk) each(f func(references.Referrer)) {
	for _, s := range w {
		for _, r := range s.all {
			f(r)
		}
	}
}

// found is what is known about an object.
type found struct {
	Count, Targets, Selected int
	Missing                  []references.Name
	Unread, Doubt            bool
}

func (w walk) look(t references.Target) found {
	f := found{Unread: true}
	exists := func(t references.Target) (there bool) {
		w.each(func(r references.Referrer) {
			there = there || r.Object.Kind == t.Kind && r.Name.Namespace == t.Namespace && r.Name.Name == t.Name
		})
		return there
	}
	seen := map[references.Target]bool{} // by the object at any version
	w.each(func(r references.Referrer) {
		if r.Err != nil { // what it refers to does not count
			r.Targets = nil
		}
		if slices.Contains(r.Targets, t) {
			f.Count++
		}
		if r.Object.Kind != t.Kind || r.Object.Version == "" || r.Name.Namespace != t.Namespace || r.Name.Name != t.Name {
			return
		}
		f.Unread = false
		for _, to := range r.Targets {
			if to.Kind == widget { // the bare name leads to two targets
				to.Namespace = ""
			}
			if seen[to] {
				continue
			}
			seen[to] = true
			if f.Targets++; !exists(to) {
				f.Missing = append(f.Missing, references.Name{Kind: to.Kind.GroupKind().Kind, Namespace: to.Namespace, Name: to.Name})
			}
		}
		for _, s := range r.Object.Selectors {
			f.Selected += w.matching(s, r.Name.Namespace)
		}
	})
	slices.SortFunc(f.Missing, func(a, b references.Name) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	sources := 0
	for _, s := range w {
		if slices.Contains(s.about, t.Kind) && s.all != nil {
			sources++
			f.Doubt = f.Doubt || s.lost
			for _, r := range s.all {
				f.Doubt = f.Doubt || r.Err != nil
			}
		}
	}
	f.Doubt = f.Doubt || sources == 0
	return f
}

func (w walk) matching(s references.Selector, namespace string) (n int) {
	w.each(func(r references.Referrer) {
		for _, l := range r.Object.Labels {
			set, _ := labels.ConvertSelectorToLabelsMap(l.Text)
			if l.As == s.To && r.Name.Namespace == namespace && s.Labels.Matches(set) {
				n++
			}
		}
	})
	return n
}

// lookIn returns the same from an index.
func lookIn(x *references.Index, t references.Target) (found, time.Time) {
	u := x.Of(t)
	return found{u.Count, u.Targets, u.Selected, x.Missing(t), u.Unread != nil, u.Doubt != nil}, u.Since
}

// anObject returns a random version of one of a few objects of a source. Two objects may have had the same name, one after the other.
func anObject(r *rand.Rand, source string) references.Referrer {
	n := r.IntN(4)
	made := references.Referrer{
		UID:    types.UID(fmt.Sprintf("%s-%d-%d", source, n, r.IntN(2))),
		Name:   references.Name{Kind: source, Namespace: "n", Name: string(rune('a' + n))},
		Object: &references.Object{},
	}
	name := func() string { return string(rune('a' + r.IntN(5))) }
	if r.IntN(10) == 0 {
		made.Err = errors.New("no such key: spec")
	}
	switch source {
	case "Role":
		made.Object.Kind = role
	case "Widget":
		made.Object.Kind, made.Name.Namespace = widget, ""
	case "RoleBinding", "RoleBinding.v2":
		made.Object.Kind, made.Object.Version = binding, fmt.Sprint(r.IntN(3)+1)
		for range r.IntN(4) {
			if to := name(); r.IntN(2) == 0 {
				made.Targets = append(made.Targets, references.Target{Kind: role, Namespace: "n", Name: to})
			} else {
				made.Targets = append(made.Targets, references.Target{Kind: widget, Name: to}, references.Target{Kind: widget, Namespace: "n", Name: to})
			}
		}
	case "Service":
		made.Object.Kind, made.Object.Version, made.Name.Namespace = service, "1", []string{"n", "m"}[n%2]
		for range r.IntN(3) {
			text := []string{"app=a", "app=b,tier=x", "app in (a,b)", "tier", "!app", ""}[r.IntN(6)]
			selector, _ := labels.Parse(text)
			made.Object.Selectors = append(made.Object.Selectors, references.Selector{To: "Pod", Labels: selector})
		}
	case "Pod":
		made.Name.Namespace = []string{"n", "m"}[n%2]
		text := []string{"", "app=a", "app=b", "app=b,tier=x", "tier=x"}[r.IntN(5)]
		made.Object.Labels = []references.Labels{{As: "Pod", Text: text}}
	}
	return made
}

// change makes one random change to both.
func (w walk) change(r *rand.Rand, x *references.Index) {
	source := slices.Sorted(maps.Keys(w))[r.IntN(len(w))]
	s := w[source]
	several := func() map[types.UID]references.Referrer {
		byName, all := map[string]references.Referrer{}, map[types.UID]references.Referrer{}
		for range r.IntN(6) {
			made := anObject(r, source)
			byName[made.Name.Name] = made
		}
		for _, made := range byName {
			all[made.UID] = made
		}
		return all
	}
	switch op := r.IntN(20); {
	case s.all == nil:
		x.Expect(s.name, s.about...)
		s.lost, s.all = true, map[types.UID]references.Referrer{}
	case op == 0:
		x.Forget(s.name)
		s.all = nil
	case op == 1:
		x.Lose(s.name, errors.New("no permission to list"))
		s.lost = true
	case op == 2:
		before := s.name
		s.name += "'"
		x.Expect(s.name)
		for range r.IntN(3) { // of a watch whose listing was lost
			x.Put(s.name, anObject(r, source))
		}
		s.all, s.lost = several(), false
		x.Succeed(s.name, before, s.about, slices.Collect(maps.Values(s.all)))
	case op < 5:
		s.all, s.lost = several(), false
		x.Replace(s.name, slices.Collect(maps.Values(s.all)))
	case op < 16:
		made := anObject(r, source)
		for uid, before := range s.all {
			if before.Name == made.Name && uid != made.UID {
				x.Remove(s.name, uid)
				delete(s.all, uid)
			}
		}
		x.Put(s.name, made)
		s.all[made.UID] = made
	default:
		made := anObject(r, source)
		x.Remove(s.name, made.UID)
		delete(s.all, made.UID)
	}
}

func everyTarget() (all []references.Target) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		for _, kind := range []references.Kind{role, binding, service} {
			all = append(all, references.Target{Kind: kind, Namespace: "n", Name: name}, references.Target{Kind: kind, Namespace: "m", Name: name})
		}
	}
	return all
}

// TestGraphIsWhatAWalkOverEverythingFinds: after each of many random changes, the index knows the same as a walk over all objects.
// Take has returned each object of which something changed, and something that became less used did so now.
func TestGraphIsWhatAWalkOverEverythingFinds(t *testing.T) {
	for seed := range uint64(long.Cases(50)) {
		random, now := rand.New(rand.NewPCG(seed, 2)), start
		clock := clocktesting.NewFakePassiveClock(now)
		x, w := references.New(clock), newWalk()
		before := map[references.Target]found{}
		for step := range 200 {
			now = now.Add(time.Duration(random.IntN(20)+1) * time.Second)
			clock.SetTime(now)
			w.change(random, x)
			changed := x.Take()
			for _, target := range everyTarget() {
				got, since := lookIn(x, target)
				if want := w.look(target); !reflect.DeepEqual(want, got) { // gocmp.Diff is slow
					t.Fatalf("seed %d, step %d, %v: -walk +index\n%s", seed, step, target, gocmp.Diff(want, got))
				}
				was, known := before[target]
				before[target] = got
				if !known || reflect.DeepEqual(was, got) {
					continue
				}
				if !slices.Contains(changed.Targets, target) && !slices.Contains(changed.Whole, target.Kind) {
					t.Fatalf("seed %d, step %d: Take did not return %v, which changed from %+v to %+v", seed, step, target, was, got)
				}
				less := got.Count < was.Count || got.Selected < was.Selected || len(got.Missing) > len(was.Missing)
				if less && !got.Doubt && !since.Equal(now) {
					t.Fatalf("seed %d, step %d: %v is used less since %s, want %s", seed, step, target, since, now)
				}
			}
		}
	}
}

// TestGraphForgetsWhatIsGone: nothing stays in memory after all objects are gone.
func TestGraphForgetsWhatIsGone(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(start)
	x, w := references.New(clock), newWalk()
	random := rand.New(rand.NewPCG(1, 3))
	for range 2000 {
		w.change(random, x)
	}
	for _, s := range w {
		x.Forget(s.name)
	}
	clock.SetTime(start.Add(time.Hour))
	x.Take()
	targets, left := x.Remembered()
	expect.Equal(t, "targets, their removals, and kinds with labels", []int{0, 0, 0}, []int{targets, left, x.LabelIndexes()})
}

// bindingTo returns a RoleBinding that refers to Roles, as the source of one version has read it.
func bindingTo(version string, roles ...string) references.Referrer {
	r := references.Referrer{
		UID: "1", Name: references.Name{Kind: "RoleBinding", Namespace: "n", Name: "b"}, Object: &references.Object{Kind: binding, Version: version},
	}
	for _, name := range roles {
		r.Targets = append(r.Targets, references.Target{Kind: role, Namespace: "n", Name: name})
	}
	return r
}

var theBinding = references.Target{Kind: binding, Namespace: "n", Name: "b"}

func named(kind, namespace, name string) references.Name {
	return references.Name{Kind: kind, Namespace: namespace, Name: name}
}

// TestObjectExistsWhileOneSourceHasIt: policies may declare references of a kind at several versions. Each is a source of the same
// objects.
func TestObjectExistsWhileOneSourceHasIt(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	reader := references.Referrer{UID: "2", Name: named("Role", "n", "a"), Object: &references.Object{Kind: role}}
	x.Expect("RoleBinding", binding)
	x.Replace("RoleBinding", []references.Referrer{bindingTo("7", "a")})
	for _, version := range []references.SourceID{"Role.v1", "Role.v2"} {
		x.Expect(version, binding)
		x.Replace(version, []references.Referrer{reader})
	}
	expect.Equal(t, "missing at first", nil, x.Missing(theBinding))
	x.Forget("Role.v2")
	expect.Equal(t, "missing after one version was forgotten", nil, x.Missing(theBinding))
	x.Put("Role.v1", reader)
	x.Forget("Role.v1")
	expect.Equal(t, "missing after both were forgotten", []references.Name{named("Role", "n", "a")}, x.Missing(theBinding))
}

// TestObjectRefersToWhatEachSourceHasRead: the references of both versions count.
func TestObjectRefersToWhatEachSourceHasRead(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	both := func(what string, targets int, missing ...references.Name) {
		t.Helper()
		expect.Equal(t, what+": targets", targets, x.Of(theBinding).Targets)
		expect.Equal(t, what+": missing", missing, x.Missing(theBinding))
	}
	x.Expect("RoleBinding.v1", binding)
	x.Expect("RoleBinding.v2", binding)
	x.Replace("RoleBinding.v1", []references.Referrer{bindingTo("7", "a", "b")})
	x.Replace("RoleBinding.v2", []references.Referrer{bindingTo("7", "b", "c")})
	both("at both versions", 3, named("Role", "n", "a"), named("Role", "n", "b"), named("Role", "n", "c"))
	expect.Equal(t, "behind", false, x.Behind(theBinding, "7") != nil)
	x.Put("RoleBinding.v2", bindingTo("8", "b"))
	both("after a change", 2, named("Role", "n", "a"), named("Role", "n", "b"))
	expect.Equal(t, "behind while one source has the old version", true, x.Behind(theBinding, "8") != nil)
	x.Forget("RoleBinding.v1")
	both("at one version", 1, named("Role", "n", "b"))
	expect.Equal(t, "unread", nil, x.Of(theBinding).Unread)
}

// TestMissingTargetOfUnknownScopeHasNoNamespace: otherwise a rule of a namespace could find out which cluster-scoped objects exist.
func TestMissingTargetOfUnknownScopeHasNoNamespace(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("RoleBinding", binding)
	r := bindingTo("7")
	for _, name := range []string{"a", "b"} {
		r.Targets = append(r.Targets, references.Target{Kind: widget, Namespace: "n", Name: name})
	}
	r.Targets = append(r.Targets, references.Target{Kind: widget, Name: "a"}) // a is a bare name, b has a namespace
	x.Replace("RoleBinding", []references.Referrer{r})
	expect.Equal(t, "targets", 2, x.Of(theBinding).Targets)
	expect.Equal(t, "missing", []references.Name{named("Widget", "", "a"), named("Widget", "n", "b")}, x.Missing(theBinding))
}

// TestPossibleNamesAreNoTargets: a StatefulSet names the claims that it may have. They are in use if they exist, and not missing if
// they do not.
func TestPossibleNamesAreNoTargets(t *testing.T) {
	const set, claim references.Kind = "StatefulSet.apps", "PersistentVolumeClaim"
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("StatefulSet", set, claim)
	named := []references.Target{{Kind: claim, Namespace: "n", Name: "data-db-0"}, {Kind: claim, Namespace: "n", Name: "data-db-1"}, {Kind: configMap, Namespace: "n", Name: "db"}}
	x.Replace("StatefulSet", []references.Referrer{{
		UID: "1", Name: references.Name{Kind: "StatefulSet", Namespace: "n", Name: "db"}, Targets: named, Object: &references.Object{Kind: set, Version: "1"},
	}})
	db := references.Target{Kind: set, Namespace: "n", Name: "db"}
	expect.Equal(t, "targets", 1, x.Of(db).Targets)
	expect.Equal(t, "missing targets", []references.Name{{Kind: "ConfigMap", Namespace: "n", Name: "db"}}, x.Missing(db))
	expect.Equal(t, "references to a claim", 1, x.Of(named[0]).Count)
}

// TestInvalidLabelHidesNoOther: a manifest may have labels that the API server would reject.
func TestInvalidLabelHidesNoOther(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	selector, err := labels.Parse("app=web")
	expect.NoError(t, err)
	x.Expect("Service", service)
	x.Replace("Service", []references.Referrer{
		{UID: "1", Name: named("Service", "n", "web"), Object: &references.Object{Kind: service, Version: "1", Selectors: []references.Selector{{To: "Pod", Labels: selector}}}},
		{UID: "2", Name: named("Pod", "n", "p"), Object: &references.Object{Labels: []references.Labels{{As: "Pod", Text: "a=not valid,app=web"}}}},
	})
	expect.Equal(t, "selected", 1, x.Of(references.Target{Kind: service, Namespace: "n", Name: "web"}).Selected)
}

// TestObjectIsBehindAfterItChanged: what it refers to may be older than the version that rules have evaluated.
func TestObjectIsBehindAfterItChanged(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("RoleBinding", binding)
	x.Replace("RoleBinding", []references.Referrer{bindingTo("7")})
	expect.Equal(t, "at the same version", nil, x.Behind(theBinding, "7"))
	expect.Equal(t, "at another version", `the references of RoleBinding.rbac.authorization.k8s.io "n/b" are from another version of the object; Sunset waits for the watch`,
		fmt.Sprint(x.Behind(theBinding, "8")))
	expect.Equal(t, "although nothing asks about it", nil, x.Behind(references.Target{Kind: role, Namespace: "n", Name: "a"}, "8"))
	clusterWide := references.Referrer{UID: "cluster-wide", Name: named("Widget", "", "w"), Object: &references.Object{Kind: widget, Version: "7"}}
	x.Put("RoleBinding", clusterWide)
	expect.Equal(t, "a cluster-scoped object", `the references of Widget.example.com "w" are from another version of the object; Sunset waits for the watch`,
		fmt.Sprint(x.Behind(references.Target{Kind: widget, Name: "w"}, "8")))
}
