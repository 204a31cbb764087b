// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// relation returns a variable about other objects at a revision, as rules see it.
func (j *checker) relation(name string, s *history.State, revision int64) (map[string]any, error) {
	switch name {
	case "targets":
		missing, count, err := j.missing(s, revision, revision)
		return map[string]any{"count": int64(count), "missing": missing}, err
	case "selected":
		count, err := j.selectedBy(s, revision)
		return map[string]any{"count": int64(count)}, err
	default:
		return j.references(s, revision)
	}
}

// target is an object that another one names.
type target struct {
	kind            schema.GroupKind
	namespace, name string
}

// targetsOf returns what an object names, as policies declare at a revision. The checker does not implement the references of Kubernetes in this
// direction.
func (j *checker) targetsOf(s *history.State, declaredAt int64) (all []target, err error) {
	known := false
	for _, p := range j.listed(clusterKind, "", declaredAt) {
		for _, declared := range p.spec.References {
			if declared.Names == "" || kindOf(declared) != s.GroupVersionKind().GroupKind() {
				continue
			}
			known = true
			names, err := j.namesIn(declared, s)
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				if t := (target{schema.ParseGroupKind(string(declared.To)), n.Namespace, n.Name}); !slices.Contains(all, t) {
					all = append(all, t)
				}
			}
		}
	}
	if !known {
		return nil, fmt.Errorf("%w: targets of a %s", errUnsupported, s.GetKind())
	}
	return all, nil
}

// missing returns the targets of an object, as policies declare them at a later revision, that do not exist at a revision, and the
// number of all targets.
func (j *checker) missing(s *history.State, revision, declaredAt int64) (missing []any, count int, err error) {
	all, err := j.targetsOf(s, declaredAt)
	missing = []any{}
	for _, t := range all {
		exists := slices.ContainsFunc(j.Log.Kind(t.kind, revision), func(s *history.State) bool {
			return s.GetNamespace() == t.namespace && s.GetName() == t.name
		})
		if !exists {
			missing = append(missing, map[string]any{"kind": t.kind.Kind, "namespace": t.namespace, "name": t.name})
		}
	}
	return missing, len(all), err
}

// selectedBy returns how many Pods and Pod templates the selector of a Service matches.
func (j *checker) selectedBy(s *history.State, revision int64) (count int, err error) {
	if !isKind(s, "v1", "Service") {
		return 0, fmt.Errorf("%w: the selector of a %s", errUnsupported, s.GetKind())
	}
	selector := mapIn(mapIn(s.Object, "spec"), "selector")
	for kind, path := range podSpecs {
		for _, of := range j.Log.Kind(kind, revision) {
			if of.GetNamespace() == s.GetNamespace() && len(selector) > 0 && contains(labelsIn(of, path), selector) {
				count++
			}
		}
	}
	return count, nil
}

// labelsIn returns the labels of a Pod, or of the Pods that a template makes. They are beside the PodSpec.
func labelsIn(of *history.State, podSpec []string) map[string]any {
	object := of.Object
	for _, field := range podSpec[:len(podSpec)-1] {
		object = mapIn(object, field)
	}
	return mapIn(mapIn(object, "metadata"), "labels")
}

func contains(labels, selector map[string]any) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// lastHad returns the earliest time at which an object can have lost a target or a selected object for the last time; zero if it
// never lost one that the rule reads. A loss and its reversal, which a new list hides from Sunset, count too.
func (j *checker) lastHad(r *rule, s *history.State, upTo int64) (last time.Time, err error) {
	if !slices.Contains(r.compiled.relations, "targets") && !slices.Contains(r.compiled.relations, "selected") {
		return last, nil
	}
	for _, c := range j.Log.Changes {
		if c.Revision > upTo || c.Before == nil && c.After == nil || cmp.Or(c.After, c.Before).GetNamespace() != s.GetNamespace() {
			continue
		}
		before, after := j.Log.At(s.Key, c.Revision-1), j.Log.At(s.Key, c.Revision)
		if before == nil || after == nil || before.GetUID() != s.GetUID() || after.GetUID() != s.GetUID() {
			continue
		}
		lost, err := j.lost(r, before, after, c.Revision, upTo)
		if err != nil {
			return last, err
		}
		if lost {
			last = latest(last, j.times.Earliest(c.Revision))
		}
	}
	return last, nil
}

// lost reports whether fewer targets of an object exist since a revision, or whether it selects fewer objects. Policies may declare the
// targets later.
func (j *checker) lost(r *rule, before, after *history.State, revision, declaredAt int64) (bool, error) {
	if slices.Contains(r.compiled.relations, "targets") {
		was, _, err := j.missing(before, revision-1, declaredAt)
		if err != nil {
			return false, err
		}
		is, _, err := j.missing(after, revision, declaredAt)
		if err != nil || len(is) > len(was) {
			return err == nil, err
		}
	}
	if slices.Contains(r.compiled.relations, "selected") {
		was, err := j.selectedBy(before, revision-1)
		if err != nil {
			return false, err
		}
		is, err := j.selectedBy(after, revision)
		return err == nil && is < was, err
	}
	return false, nil
}
