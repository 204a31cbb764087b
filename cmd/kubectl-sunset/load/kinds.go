// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kubernetesMinor is the minor version of Kubernetes, 1.minor, whose kinds BuiltinKinds knows. It follows k8s.io/client-go in
// go.mod.
const kubernetesMinor = 37

// KubernetesVersion is the Kubernetes version whose kinds BuiltinKinds knows.
var KubernetesVersion = fmt.Sprintf("1.%d", kubernetesMinor)

// KnownKinds holds the kinds that are known without a cluster, each with its schema. The schema is nil if it is unknown.
type KnownKinds struct {
	served  []*metav1.APIResourceList
	schemas map[schema.GroupVersionKind]func() *spec.Schema
}

// BuiltinKinds returns the kinds of Kubernetes that can be listed.
func BuiltinKinds() *KnownKinds {
	k := &KnownKinds{schemas: map[schema.GroupVersionKind]func() *spec.Schema{}}
	for _, gv := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		types := scheme.Scheme.KnownTypes(gv)
		for name, t := range types {
			object := reflect.New(t).Interface()
			if _, hasMetadata := object.(metav1.Object); !hasMetadata || types[name+"List"] == nil || isRemoved(object) {
				continue
			}
			plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(name))
			resource := metav1.APIResource{Name: plural.Resource, Namespaced: !slices.Contains(clusterScoped, name), ShortNames: ShortNames(gv.WithKind(name))}
			k.add(gv.WithKind(name), resource, func() *spec.Schema {
				s := schemaOf(t)
				return &s
			})
		}
	}
	return k
}

// isRemoved reports whether Kubernetes no longer serves a type.
func isRemoved(object any) bool {
	t, ok := object.(interface{ APILifecycleRemoved() (major, minor int) })
	if !ok {
		return false
	}
	_, in := t.APILifecycleRemoved()
	return in <= kubernetesMinor
}

func (k *KnownKinds) add(kind schema.GroupVersionKind, resource metav1.APIResource, schemaOf func() *spec.Schema) {
	version := kind.GroupVersion().String()
	at := slices.IndexFunc(k.served, func(l *metav1.APIResourceList) bool { return l.GroupVersion == version })
	if at < 0 {
		at, k.served = len(k.served), append(k.served, &metav1.APIResourceList{GroupVersion: version})
	}
	resource.Kind, resource.Verbs = kind.Kind, metav1.Verbs{"list"}
	k.served[at].APIResources = append(k.served[at].APIResources, resource)
	k.schemas[kind] = schemaOf
}

// find returns nil for an unknown kind.
func (k *KnownKinds) find(kind schema.GroupVersionKind) *metav1.APIResource {
	for _, list := range k.served {
		for i := range list.APIResources {
			if r := &list.APIResources[i]; list.GroupVersion == kind.GroupVersion().String() && r.Kind == kind.Kind {
				return r
			}
		}
	}
	return nil
}

// definition is the part of a CustomResourceDefinition that describes its kind.
type definition struct {
	Spec struct {
		Group                 string
		Scope                 string
		PreserveUnknownFields bool
		Names                 struct {
			Plural, Singular, Kind string
			ShortNames             []string
		}
		Versions []struct {
			Name   string
			Served bool
			Schema struct {
				OpenAPIV3Schema *spec.Schema `json:"openAPIV3Schema"`
			}
		}
	}
}

// IsDefinition reports whether an object is a CustomResourceDefinition.
func IsDefinition(object map[string]any) bool {
	return object["apiVersion"] == "apiextensions.k8s.io/v1" && object["kind"] == "CustomResourceDefinition"
}

// newDefinition decodes a CustomResourceDefinition. If that fails, the definition has no versions.
func newDefinition(object map[string]any) definition {
	var d definition
	if data, err := json.Marshal(object); err != nil || json.Unmarshal(data, &d) != nil {
		return definition{}
	}
	return d
}

func (k *KnownKinds) define(d definition) {
	for _, version := range d.Spec.Versions {
		if !version.Served {
			continue
		}
		s := version.Schema.OpenAPIV3Schema
		if d.Spec.PreserveUnknownFields {
			s = nil
		}
		if s != nil && s.Properties != nil { // the API server adds the fields that every object has
			s.Properties["apiVersion"], s.Properties["kind"] = typed("string"), typed("string")
			s.Properties["metadata"] = schemaOf(reflect.TypeFor[metav1.ObjectMeta]())
		}
		kind := schema.GroupVersionKind{Group: d.Spec.Group, Version: version.Name, Kind: d.Spec.Names.Kind}
		names := d.Spec.Names
		resource := metav1.APIResource{Name: names.Plural, SingularName: names.Singular, Namespaced: d.Spec.Scope == "Namespaced", ShortNames: names.ShortNames}
		k.add(kind, resource, func() *spec.Schema { return s })
	}
}

// ShortNames returns the short names of a built-in kind, as kubectl accepts them.
func ShortNames(kind schema.GroupVersionKind) []string {
	if name := shortNames[kind.Kind]; name != "" && scheme.Scheme.Recognizes(kind) {
		return []string{name}
	}
	return nil
}

var shortNames = map[string]string{
	"CertificateSigningRequest": "csr", "ComponentStatus": "cs", "ConfigMap": "cm", "CronJob": "cj", "DaemonSet": "ds", "Deployment": "deploy",
	"Endpoints": "ep", "Event": "ev", "HorizontalPodAutoscaler": "hpa", "IPAddress": "ip", "Ingress": "ing", "LimitRange": "limits",
	"Namespace": "ns", "NetworkPolicy": "netpol", "Node": "no", "PersistentVolume": "pv", "PersistentVolumeClaim": "pvc", "Pod": "po",
	"PodDisruptionBudget": "pdb", "PriorityClass": "pc", "ReplicaSet": "rs", "ReplicationController": "rc", "ResourceQuota": "quota",
	"Service": "svc", "ServiceAccount": "sa", "StatefulSet": "sts", "StorageClass": "sc", "VolumeAttributesClass": "vac",
}

// clusterScoped lists the built-in kinds that are not namespaced.
var clusterScoped = strings.Fields(`
	CSIDriver CSINode CertificateSigningRequest ClusterRole ClusterRoleBinding ClusterTrustBundle ComponentStatus DeviceClass
	DeviceTaintRule FlowSchema IPAddress IngressClass MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
	MutatingWebhookConfiguration Namespace Node PersistentVolume PriorityClass PriorityLevelConfiguration ResourcePoolStatusRequest
	ResourceSlice RuntimeClass ServiceCIDR StorageClass StorageVersion StorageVersionMigration ValidatingAdmissionPolicy
	ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment VolumeAttributesClass`)
