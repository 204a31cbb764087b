// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds are the kinds of the objects in this test.
var kinds = map[string]schema.GroupVersionKind{
	"Pod": {Version: "v1", Kind: "Pod"}, "Deployment": {Group: "apps", Version: "v1", Kind: "Deployment"},
	"ConfigMap": {Version: "v1", Kind: "ConfigMap"}, "Secret": {Version: "v1", Kind: "Secret"},
	"ServiceAccount": {Version: "v1", Kind: "ServiceAccount"}, "Service": {Version: "v1", Kind: "Service"},
	"Ingress":             {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	"NetworkPolicy":       {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	"PodDisruptionBudget": {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	"Role":                {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	"ClusterRole":         {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	"RoleBinding":         {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	"ClusterRoleBinding":  {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
}

func isClusterScoped(kind string) bool { return strings.HasPrefix(kind, "Cluster") }

// id identifies an object.
type id struct{ kind, namespace, name string }

// object is an object of the test. The walk reads these fields, and Sunset the JSON that is made of them.
type object struct {
	id
	uid       string
	labels    map[string]string // of a Pod or a template
	names     map[string]string // the object of each kind that its Pods mount, or that it owns; "" for none
	account   string
	selector  map[string]string // nil for none
	role      id
	subjects  []id
	backend   string
	replicas  int
	ownerless bool
	refers    []id // its targets
}

var names = []string{"a", "b", "c", "d"}

// random returns a new version of a random object.
func random(r *rand.Rand, before world) *object {
	kind := slices.Sorted(maps.Keys(kinds))[r.IntN(len(kinds))]
	name := func() string { return names[r.IntN(len(names))] }
	o := &object{id: id{kind, []string{"n", "m"}[r.IntN(2)], name()}, uid: fmt.Sprint(r.Uint64()), names: map[string]string{}}
	if isClusterScoped(kind) {
		o.namespace = ""
	}
	if old := before[o.id]; old != nil && r.IntN(3) > 0 { // otherwise it was deleted and created again
		o.uid = old.uid
	}
	labels := func() map[string]string {
		return []map[string]string{{}, {"app": "a"}, {"app": "b"}, {"app": "b", "tier": "x"}, {"tier": "x"}}[r.IntN(5)]
	}
	o.labels, o.account, o.backend, o.replicas, o.ownerless = labels(), append(names, "")[r.IntN(5)], name(), r.IntN(2), r.IntN(2) == 0
	for _, kind := range []string{"ConfigMap", "Secret"} {
		o.names[kind] = append(names, "")[r.IntN(5)]
	}
	if r.IntN(4) > 0 {
		o.selector = labels()
	}
	o.role = id{"Role", o.namespace, name()}
	if isClusterScoped(kind) || r.IntN(2) == 0 {
		o.role = id{"ClusterRole", "", name()}
	}
	for range r.IntN(3) {
		o.subjects = append(o.subjects, id{[]string{"ServiceAccount", "User"}[r.IntN(2)], []string{"n", "m"}[r.IntN(2)], name()})
	}
	o.refers = o.targets()
	return o
}

// podSpec is the JSON of a PodSpec.
func (o *object) podSpec() map[string]any {
	var volumes []any
	if name := o.names["ConfigMap"]; name != "" {
		volumes = append(volumes, map[string]any{"name": "c", "configMap": map[string]any{"name": name}})
	}
	if name := o.names["Secret"]; name != "" {
		volumes = append(volumes, map[string]any{"name": "s", "secret": map[string]any{"secretName": name}})
	}
	spec := map[string]any{"containers": []any{map[string]any{"name": "c"}}}
	if len(volumes) > 0 { // the API server omits empty lists
		spec["volumes"] = volumes
	}
	if o.account != "" {
		spec["serviceAccountName"] = o.account
	}
	return spec
}

// json is the object as the API server sends it.
func (o *object) json() map[string]any {
	meta := map[string]any{"name": o.name, "uid": o.uid, "resourceVersion": o.uid}
	if o.namespace != "" {
		meta["namespace"] = o.namespace
	}
	all := map[string]any{"metadata": meta}
	switch o.kind {
	case "Pod":
		meta["labels"], all["spec"] = o.labels, o.podSpec()
	case "Deployment":
		meta["labels"] = map[string]any{"app": "not-of-the-template"}
		all["spec"] = map[string]any{"replicas": o.replicas, "template": map[string]any{"metadata": map[string]any{"labels": o.labels}, "spec": o.podSpec()}}
	case "ConfigMap", "Secret":
		for kind, name := range o.names {
			if name != "" && !o.ownerless {
				owners, _ := meta["ownerReferences"].([]any)
				meta["ownerReferences"] = append(owners, map[string]any{"apiVersion": "v1", "kind": kind, "name": name, "uid": "of-" + name})
			}
		}
	case "ServiceAccount":
		if name := o.names["Secret"]; name != "" {
			all["imagePullSecrets"] = []any{map[string]any{"name": name}}
		}
	case "Service":
		all["spec"] = o.selecting("selector", o.selector)
	case "PodDisruptionBudget":
		all["spec"] = o.selecting("selector", map[string]any{"matchLabels": o.selector})
	case "NetworkPolicy":
		all["spec"] = o.selecting("podSelector", map[string]any{"matchLabels": o.selector})
	case "Ingress":
		all["spec"] = map[string]any{"defaultBackend": map[string]any{"service": map[string]any{"name": o.backend}}}
	case "RoleBinding", "ClusterRoleBinding":
		all["roleRef"] = map[string]any{"kind": o.role.kind, "name": o.role.name}
		for _, s := range o.subjects {
			subjects, _ := all["subjects"].([]any)
			all["subjects"] = append(subjects, map[string]any{"kind": s.kind, "name": s.name, "namespace": s.namespace})
		}
	}
	return all
}

// selecting is a spec with a selector, or an empty one.
func (o *object) selecting(field string, selector any) map[string]any {
	if o.selector == nil {
		return map[string]any{}
	}
	return map[string]any{field: selector}
}
