// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// asked is what the rules ask in this test.
var asked = references.Asked{
	"ConfigMap": policy.AsksReferences, "Secret": policy.AsksReferences, "ServiceAccount": policy.AsksReferences,
	"Role.rbac.authorization.k8s.io": policy.AsksReferences, "RoleBinding.rbac.authorization.k8s.io": policy.AsksTargets,
	"Service": policy.AsksReferences | policy.AsksSelected, "PodDisruptionBudget.policy": policy.AsksSelected,
	"NetworkPolicy.networking.k8s.io": policy.AsksSelected,
}

// world is all objects. Each lookup searches everything.
type world map[id]*object

// targets returns what an object refers to, once for each target.
func (o *object) targets() []id {
	all := map[id]bool{}
	add := func(kind, name string) {
		if name != "" {
			all[id{kind, o.namespace, name}] = true
		}
	}
	switch o.kind {
	case "Pod", "Deployment":
		add("ConfigMap", o.names["ConfigMap"])
		add("Secret", o.names["Secret"])
		if add("ServiceAccount", o.account); o.account == "" {
			add("ServiceAccount", "default")
		}
	case "ConfigMap", "Secret":
		if !o.ownerless {
			add("ConfigMap", o.names["ConfigMap"])
			add("Secret", o.names["Secret"])
		}
	case "ServiceAccount":
		add("Secret", o.names["Secret"])
	case "Ingress":
		add("Service", o.backend)
	case "RoleBinding", "ClusterRoleBinding":
		all[o.role] = true
		for _, s := range o.subjects {
			if s.kind == "ServiceAccount" {
				all[s] = true
			}
		}
	}
	return slices.Collect(maps.Keys(all))
}

// found is what is known about an object.
type found struct {
	By, Missing       []string
	Targets, Selected int
}

// look walks over all objects.
func (w world) look(of id) (f found) {
	for _, o := range w {
		if slices.Contains(o.refers, of) {
			f.By = append(f.By, o.kind+" "+o.namespace+"/"+o.name)
		}
	}
	slices.Sort(f.By)
	o := w[of]
	if o == nil {
		return f
	}
	if o.kind == "RoleBinding" { // rules ask about its targets
		f.Targets = len(o.refers)
		for _, to := range o.refers {
			if w[to] == nil {
				f.Missing = append(f.Missing, to.kind+" "+to.namespace+"/"+to.name)
			}
		}
		slices.Sort(f.Missing)
	}
	all := o.kind == "NetworkPolicy" || o.kind == "PodDisruptionBudget" && o.selector != nil
	if !all && (o.kind != "Service" || len(o.selector) == 0) {
		return f
	}
	for _, pod := range w {
		if pod.namespace != o.namespace || pod.kind != "Pod" && pod.kind != "Deployment" {
			continue
		}
		matches := true
		for key, value := range o.selector {
			matches = matches && pod.labels[key] == value
		}
		if matches {
			f.Selected++
		}
	}
	return f
}

// known is what the graph knows about an object.
func known(t *testing.T, x *references.Index, of id) (f found) {
	t.Helper()
	target := references.Target{Kind: references.KindOf(kinds[of.kind].GroupKind()), Namespace: of.namespace, Name: of.name}
	u := x.Of(target)
	if u.Doubt != nil {
		t.Fatal(u.Doubt)
	}
	text := func(all []references.Name) (texts []string) {
		for _, n := range all {
			texts = append(texts, n.Kind+" "+n.Namespace+"/"+n.Name)
		}
		slices.Sort(texts)
		return texts
	}
	f = found{By: text(x.By(target)), Missing: text(x.Missing(target)), Targets: u.Targets, Selected: u.Selected}
	if u.Count != len(f.By) {
		t.Fatalf("%v: %d references, but %d referrers", of, u.Count, len(f.By))
	}
	return f
}

// reader reads objects as watches do.
type reader struct {
	*testing.T
	table     *extract.Table
	evaluator *engine.Evaluator
	index     *references.Index
}

func (r *reader) read(o *object) references.Referrer {
	r.Helper()
	kind := kinds[o.kind]
	data, err := json.Marshal(o.json())
	expect.NoError(r, err)
	decoded, err := r.table.NewDecoder(kind).Decode(data)
	expect.NoError(r, err)
	read := r.table.Read(r.evaluator, kind, decoded)
	expect.NoError(r, read.Err)
	return read
}

// put passes one object to the index, or all objects of its kind.
func (r *reader) put(o *object, w world, again bool) {
	r.Helper()
	source := references.SourceID(o.kind)
	if !again {
		r.index.Put(source, r.read(o))
		return
	}
	var all []references.Referrer
	for _, other := range w {
		if other.kind == o.kind {
			all = append(all, r.read(other))
		}
	}
	r.index.Replace(source, all)
}

// TestGraphOfObjectsIsWhatAWalkOverTheirFieldsFinds compares two results after each of many random changes: the graph that the
// built-in references make of the JSON of all objects, and a walk over their fields. Both have the same references by name and by
// owner, the same missing targets, and the same number of selected Pods and templates.
func TestGraphOfObjectsIsWhatAWalkOverTheirFieldsFinds(t *testing.T) {
	table, refused := extract.NewTable(fixture.Compiler(t), nil, asked)
	expect.Equal(t, "refused", 0, len(refused))
	e := fixture.Compiler(t).NewEvaluator(t.Context())
	defer e.Close()
	for seed := range uint64(10) {
		r := &reader{t, table, e, references.New(clocktesting.NewFakePassiveClock(time.Now()))}
		for _, kind := range table.Kinds() { // the cluster has no object of the other kinds
			r.index.Expect(references.SourceID(kind.Kind), table.About(kind)...)
			r.index.Replace(references.SourceID(kind.Kind), nil)
		}
		w, dice := world{}, rand.New(rand.NewPCG(seed, 7))
		for step := range 200 {
			o := random(dice, w)
			switch before := w[o.id]; {
			case before != nil && dice.IntN(3) == 0:
				delete(w, o.id)
				r.index.Remove(references.SourceID(o.kind), types.UID(before.uid))
			default:
				if before != nil && before.uid != o.uid {
					r.index.Remove(references.SourceID(o.kind), types.UID(before.uid))
				}
				w[o.id] = o
				r.put(o, w, dice.IntN(10) == 0)
			}
			for kind := range kinds {
				for _, name := range append(names, "default") {
					for _, namespace := range []string{"n", "m", ""} {
						of := id{kind, namespace, name}
						if _, isAsked := asked[references.KindOf(kinds[kind].GroupKind())]; !isAsked || isClusterScoped(kind) != (namespace == "") {
							continue
						}
						if want, got := w.look(of), known(t, r.index, of); !reflect.DeepEqual(want, got) { // cmp.Diff is slow
							t.Fatalf("seed %d, step %d, after a change of %v: %v: -walk +graph\n%s", seed, step, o.id, of, cmp.Diff(want, got))
						}
					}
				}
			}
		}
	}
}
