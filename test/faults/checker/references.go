// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"
	"time"

	celtypes "github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// quietPeriod is how long an object must have had no references, the same targets or the same selected objects before a rule that
// reads these may delete it.
const quietPeriod = 30 * time.Second

// podSpecs contains the path of the PodSpec in the kinds that tests use.
var podSpecs = map[schema.GroupKind][]string{
	{Kind: "Pod"}:                        {"spec"},
	{Kind: "PodTemplate"}:                {"template", "spec"},
	{Kind: "ReplicationController"}:      {"spec", "template", "spec"},
	{Group: "apps", Kind: "Deployment"}:  {"spec", "template", "spec"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "template", "spec"},
	{Group: "apps", Kind: "DaemonSet"}:   {"spec", "template", "spec"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "template", "spec"},
	{Group: "batch", Kind: "Job"}:        {"spec", "template", "spec"},
	{Group: "batch", Kind: "CronJob"}:    {"spec", "jobTemplate", "spec", "template", "spec"},
}

// notFollowed contains kinds whose references to ConfigMaps and Secrets the checker does not implement. If such an object
// contains the name of an object anywhere, that object is not checked.
var notFollowed = []schema.GroupKind{
	{Group: "apps", Kind: "ControllerRevision"}, {Group: "networking.k8s.io", Kind: "Ingress"},
	{Group: "networking.k8s.io", Kind: "IngressClass"}, {Kind: "PersistentVolume"}, {Group: "storage.k8s.io", Kind: "StorageClass"},
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}, {Group: "gateway.networking.k8s.io", Kind: "Gateway"},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"},
}

// references returns the references to an object at a revision, as rules see them.
func (j *checker) references(s *history.State, revision int64) (map[string]any, error) {
	for _, kind := range notFollowed {
		for _, from := range j.Log.Kind(kind, revision) {
			if says(from.Object, s.GetName()) {
				return nil, fmt.Errorf("%w: references of a %s", errUnsupported, kind)
			}
		}
	}
	by := []any{}
	for _, kind := range j.referrers(revision) {
		for _, from := range j.Log.Kind(kind, revision) {
			refers, err := j.refers(from, s, revision)
			if err != nil {
				return nil, err
			}
			if refers {
				by = append(by, map[string]any{"kind": from.GetKind(), "namespace": from.GetNamespace(), "name": from.GetName()})
			}
		}
	}
	return map[string]any{"count": int64(len(by)), "by": by}, nil
}

// referrers returns the kinds that may refer to others: kinds of Kubernetes, and those that policies declare.
func (j *checker) referrers(revision int64) []schema.GroupKind {
	kinds := []schema.GroupKind{{Kind: "ServiceAccount"}, {Kind: "ConfigMap"}, {Kind: "Secret"}}
	for kind := range podSpecs {
		kinds = append(kinds, kind)
	}
	for _, p := range j.listed(clusterKind, "", revision) {
		for _, declared := range p.spec.References {
			if kind := kindOf(declared); !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

func kindOf(declared v1alpha1.Reference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(declared.From.APIVersion, declared.From.Kind).GroupKind()
}

// refers reports whether one object refers to another: by its PodSpec, as an owned object to its owner, or as a policy
// declares.
func (j *checker) refers(from, to *history.State, revision int64) (bool, error) {
	if from.GetUID() == to.GetUID() {
		return false, nil
	}
	if from.GetNamespace() == to.GetNamespace() && (j.mounts(from, to) || owns(to, from)) {
		return true, nil
	}
	for _, p := range j.listed(clusterKind, "", revision) {
		for _, declared := range p.spec.References {
			if declared.Names == "" || kindOf(declared) != from.GroupVersionKind().GroupKind() || string(declared.To) != to.GetKind() {
				continue
			}
			names, err := j.namesIn(declared, from)
			if err != nil || slices.Contains(names, types.NamespacedName{Namespace: to.GetNamespace(), Name: to.GetName()}) {
				return err == nil, err
			}
		}
	}
	return false, nil
}

func (j *checker) mounts(from, to *history.State) bool {
	spec := from.Object
	path, has := podSpecs[from.GroupVersionKind().GroupKind()]
	if isKind(from, "v1", "ServiceAccount") {
		return to.GetKind() == "Secret" && names(append(mapsIn(spec, "secrets"), mapsIn(spec, "imagePullSecrets")...), to)
	}
	for _, field := range path {
		spec = mapIn(spec, field)
	}
	return has && mentions(spec, to)
}

// fields contains the fields of a PodSpec that name an object of a kind: the outer field, and the inner field with the name.
var fields = map[string]map[string]string{
	"ConfigMap":             {"configMap": "name", "configMapRef": "name", "configMapKeyRef": "name"},
	"PersistentVolumeClaim": {"persistentVolumeClaim": "claimName"},
	"Secret": {"secret": "secretName", "secretRef": "name", "secretKeyRef": "name", "nodePublishSecretRef": "name",
		"volumeAttributes": "secretName"},
}

// mentions looks for the name of an object anywhere in a PodSpec.
func mentions(value any, to *history.State) bool {
	switch x := value.(type) {
	case []any:
		return slices.ContainsFunc(x, func(one any) bool { return mentions(one, to) })
	case map[string]any:
		for field, inner := range x {
			named := mapIn(x, field)
			switch {
			case fields[to.GetKind()][field] != "" && named[fields[to.GetKind()][field]] == to.GetName(),
				to.GetKind() == "Secret" && field == "secret" && named["name"] == to.GetName(), // of a projected volume
				to.GetKind() == "Secret" && field == "imagePullSecrets" && names(mapsIn(x, field), to),
				mentions(inner, to):
				return true
			}
		}
	}
	return false
}

// says reports whether a text occurs anywhere in a value.
func says(value any, text string) bool {
	switch x := value.(type) {
	case []any:
		return slices.ContainsFunc(x, func(one any) bool { return says(one, text) })
	case map[string]any:
		for _, inner := range x {
			if says(inner, text) {
				return true
			}
		}
	case string:
		return x == text
	}
	return false
}

func names(list []map[string]any, to *history.State) bool {
	return slices.ContainsFunc(list, func(one map[string]any) bool { return one["name"] == to.GetName() })
}

// owns reports whether another object owns a ConfigMap or Secret.
func owns(owner, owned *history.State) bool {
	return isMaterial(owned) && slices.ContainsFunc(mapsIn(mapIn(owned.Object, "metadata"), "ownerReferences"), func(o map[string]any) bool {
		return o["uid"] == string(owner.GetUID())
	})
}

// namesIn evaluates a declaration, and returns the objects that it names.
func (j *checker) namesIn(declared v1alpha1.Reference, from *history.State) (names []types.NamespacedName, err error) {
	program, err := j.program(declared.Names)
	if err != nil {
		return nil, err
	}
	value, _, err := program.Eval(map[string]any{"object": seen(from)})
	if err != nil {
		return nil, err
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("%s does not return a list", declared.Names)
	}
	for it := list.Iterator(); it.HasNext() == celtypes.True; {
		to := types.NamespacedName{Namespace: from.GetNamespace()}
		switch x := it.Next().Value().(type) {
		case string:
			to.Name = x
		case map[string]any:
			to.Name, _ = x["name"].(string)
			if other, _ := x["namespace"].(string); other != "" {
				to.Namespace = other
			}
		default:
			return nil, fmt.Errorf("%w: a name such as %v", errUnsupported, x)
		}
		if to.Name != "" {
			names = append(names, to)
		}
	}
	return names, nil
}

// lastReferred returns the earliest time at which the last reference to an object can have ended; zero if there never was
// one.
func (j *checker) lastReferred(s *history.State, upTo int64) (last time.Time, err error) {
	for _, kind := range j.referrers(upTo) {
		for _, c := range j.Log.Between(kind, 0, upTo) {
			if c.Before == nil {
				continue
			}
			before, err := j.refers(c.Before, s, c.Revision)
			if err != nil || !before {
				continue
			}
			after := false
			if c.After != nil {
				if after, err = j.refers(c.After, s, c.Revision); err != nil {
					return last, err
				}
			}
			if !after {
				last = latest(last, j.times.Earliest(c.Revision))
			}
		}
	}
	return last, nil
}

// soonest returns the end of the quiet period of an object; zero for a rule that reads no references, targets or selected.
func (j *checker) soonest(r *rule, s *history.State, revision int64) (time.Time, error) {
	if !r.compiled.refers() {
		return time.Time{}, nil
	}
	referred, err := j.lastReferred(s, revision)
	if err != nil {
		return time.Time{}, err
	}
	had, err := j.lastHad(r, s, revision)
	return latest(latest(referred, had), created(s)).Add(quietPeriod), err
}
