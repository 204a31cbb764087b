package references_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/references"
)

const (
	configMap references.Kind = "ConfigMap"
	secret    references.Kind = "Secret"
)

// model is the same as an Index, in the way nobody can get wrong: all referrers, looked through at each question.
type model map[references.From]*source

type source struct {
	to   []references.Kind
	lost bool
	all  map[types.UID]references.Referrer
}

func (m model) by(t references.Target) []references.Name {
	var names []references.Name
	for _, s := range m {
		for _, r := range s.all {
			if r.Err == nil && slices.Contains(r.Targets, t) {
				names = append(names, r.Name)
			}
		}
	}
	slices.SortFunc(names, func(a, b references.Name) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return names
}

func (m model) doubts(k references.Kind) bool {
	for _, s := range m {
		if !slices.Contains(s.to, k) {
			continue
		}
		if s.lost {
			return true
		}
		for _, r := range s.all {
			if r.Err != nil {
				return true
			}
		}
	}
	return false
}

// seen is all that can be asked about some targets.
type seen map[references.Target]answer

type answer struct {
	Count int
	Doubt bool
	By    []references.Name
}

var targets = func() (all []references.Target) {
	for _, kind := range []references.Kind{configMap, secret} {
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, references.Target{Kind: kind, Namespace: "n", Name: name})
		}
	}
	return all
}()

func (m model) seen() seen {
	all := seen{}
	for _, t := range targets {
		by := m.by(t)
		all[t] = answer{len(by), m.doubts(t.Kind), by}
	}
	return all
}

func seenIn(x *references.Index) seen {
	all := seen{}
	for _, t := range targets {
		uses := x.Of(t)
		all[t] = answer{uses.Count, uses.Doubt != nil, x.By(t)}
	}
	return all
}

var errUnread = errors.New("no such field")

func referrer(r *rand.Rand, from references.From) references.Referrer {
	n := r.IntN(6)
	made := references.Referrer{
		UID:  types.UID(fmt.Sprintf("%s-%d", from, n)),
		Name: references.Name{Kind: string(from), Namespace: "n", Name: fmt.Sprint(n)},
	}
	if r.IntN(8) == 0 {
		made.Err = errUnread
	}
	for range r.IntN(5) {
		made.Targets = append(made.Targets, targets[r.IntN(len(targets))])
	}
	return made
}

// TestIndexIsWhatALookAtEverythingWouldSay: after every one of many random changes the index gives the answers of the model,
// and has told of every answer that changed.
func TestIndexIsWhatALookAtEverythingWouldSay(t *testing.T) {
	froms := []references.From{"Pod", "Deployment", "Ingress"}
	to := map[references.From][]references.Kind{"Pod": {configMap, secret}, "Deployment": {configMap}, "Ingress": {secret}}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		x, m := references.New(), model{}
		told := seenIn(x)
		for step := range 200 {
			change(random, x, m, froms[random.IntN(len(froms))], to)
			want := m.seen()
			if diff := gocmp.Diff(want, seenIn(x)); diff != "" {
				t.Fatalf("seed %d, step %d: -model +index\n%s", seed, step, diff)
			}
			if random.IntN(3) > 0 {
				continue
			}
			if missed := untold(told, want, x); len(missed) > 0 {
				t.Fatalf("seed %d, step %d: nobody is told of %v", seed, step, missed)
			}
			told = want
		}
	}
}

// change does one random thing to both.
func change(r *rand.Rand, x *references.Index, m model, from references.From, to map[references.From][]references.Kind) {
	s := m[from]
	switch op := r.IntN(20); {
	case s == nil:
		x.Expect(from, to[from]...)
		m[from] = &source{to: to[from], lost: true, all: map[types.UID]references.Referrer{}}
	case op == 0:
		x.Forget(from)
		delete(m, from)
	case op == 1:
		x.Lose(from, errors.New("no right to list"))
		s.lost = true
	case op < 5:
		s.lost, s.all = false, map[types.UID]references.Referrer{}
		for range r.IntN(6) {
			made := referrer(r, from)
			s.all[made.UID] = made
		}
		x.Replace(from, slices.Collect(maps.Values(s.all)))
	case op < 14:
		made := referrer(r, from)
		x.Put(from, made)
		s.all[made.UID] = made
	default:
		made := referrer(r, from)
		x.Remove(from, made.UID)
		delete(s.all, made.UID)
	}
}

// untold are the targets whose answer changed and which no change names.
func untold(before, now seen, x *references.Index) (missed []references.Target) {
	var rung bool
	select {
	case <-x.Changed():
		rung = true
	default:
	}
	changes := x.Take()
	for t, answer := range now {
		same := gocmp.Equal(before[t], answer)
		if !same && (!rung || !slices.Contains(changes.Targets, t) && !slices.Contains(changes.Whole, t.Kind)) {
			missed = append(missed, t)
		}
	}
	return missed
}

func TestDoubtSaysWhoCannotBeRead(t *testing.T) {
	x := references.New()
	x.Expect("Pod", configMap, secret)
	x.Expect("Gateway", secret)
	pod := references.Referrer{UID: "1", Name: references.Name{Kind: "Pod", Namespace: "shop", Name: "web"}, Err: errUnread}
	x.Replace("Pod", []references.Referrer{pod})
	x.Replace("Gateway", nil)
	for _, want := range []struct {
		when  string
		do    func()
		kind  references.Kind
		doubt string
	}{
		{"a Pod cannot be read", func() {}, configMap, "what refers to a ConfigMap is not known completely: Pod: shop/web: no such field"},
		{"it can", func() { pod.Err = nil; x.Put("Pod", pod) }, configMap, ""},
		{"no right to list", func() { x.Lose("Gateway", errors.New("forbidden")) }, secret, "what refers to a Secret is not known completely: Gateway: forbidden"},
		{"the other kind is known", func() {}, configMap, ""},
		{"the source is no more", func() { x.Forget("Gateway") }, secret, ""},
	} {
		want.do()
		got := ""
		if err := x.Doubt(want.kind); err != nil {
			got = err.Error()
		}
		if got != want.doubt {
			t.Errorf("%s: %q, want %q", want.when, got, want.doubt)
		}
	}
}
