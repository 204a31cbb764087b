// SPDX-License-Identifier: Apache-2.0

package load

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sunset-k8s/sunset/test/expect"
)

var update = flag.Bool("update", false, "rewrite builtin.txt")

// TestBuiltinKindsAreGenerated compares builtin.txt with the types of the client library in go.mod.
func TestBuiltinKindsAreGenerated(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	expect.NoError(t, err)
	version := regexp.MustCompile(`k8s\.io/client-go v0\.(\d+)\.`).FindSubmatch(mod)
	if version == nil {
		t.Fatal("go.mod does not require k8s.io/client-go")
	}
	minor := 0
	_, err = fmt.Sscan(string(version[1]), &minor)
	expect.NoError(t, err)
	expect.Golden(t, "builtin.txt", newTypeWriter(minor).text(), *update)
}

// typeWriter writes the kinds of the client library, and the types that they contain.
type typeWriter struct {
	minor int
	kinds []string
	types map[string]string
}

func newTypeWriter(minor int) *typeWriter {
	w := &typeWriter{minor: minor, types: map[string]string{}}
	w.typeOf(reflect.TypeFor[metav1.ObjectMeta]())
	for _, gv := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		types := scheme.Scheme.KnownTypes(gv)
		for _, name := range slices.Sorted(maps.Keys(types)) {
			object := reflect.New(types[name]).Interface()
			if _, hasMetadata := object.(metav1.Object); !hasMetadata || types[name+"List"] == nil || w.isRemoved(object) {
				continue
			}
			plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(name))
			scope := "namespaced"
			if slices.Contains(clusterScoped, name) {
				scope = "cluster"
			}
			line := fmt.Sprintf("kind %s %s %s %s %s %s", gv, name, plural.Resource, scope, w.typeOf(types[name]), shortNames[name])
			w.kinds = append(w.kinds, strings.TrimSpace(line))
		}
	}
	return w
}

// isRemoved reports whether Kubernetes no longer serves a type.
func (w *typeWriter) isRemoved(object any) bool {
	t, ok := object.(interface{ APILifecycleRemoved() (major, minor int) })
	if !ok {
		return false
	}
	_, in := t.APILifecycleRemoved()
	return in <= w.minor
}

func (w *typeWriter) text() string {
	lines := append([]string{fmt.Sprintf("kubernetes 1.%d", w.minor)}, w.kinds...)
	for _, name := range slices.Sorted(maps.Keys(w.types)) {
		lines = append(lines, strings.TrimSpace("type "+name+" "+w.types[name]))
	}
	return strings.Join(lines, "\n") + "\n"
}

// typeOf returns the name of a Go type of the Kubernetes API in builtin.txt. A quantity is a string, as the API server serves
// it. An unknown type and a union of types are anything.
func (w *typeWriter) typeOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return w.typeOf(t.Elem())
	}
	if t == reflect.TypeFor[resource.Quantity]() {
		return "string"
	}
	zero := reflect.Zero(t).Interface()
	if _, several := zero.(interface{ OpenAPIV3OneOfTypes() []string }); several {
		return anything
	}
	if own, ok := zero.(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}); ok {
		return strings.TrimSuffix(own.OpenAPISchemaType()[0]+withFormat+own.OpenAPISchemaFormat(), withFormat)
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return "integer"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string" // in base64
		}
		return listOf + w.typeOf(t.Elem())
	case reflect.Map:
		return mapOf + w.typeOf(t.Elem())
	case reflect.Struct:
		return w.structOf(t)
	}
	return anything
}

// structOf adds a struct to the types, and returns its name.
func (w *typeWriter) structOf(t reflect.Type) string {
	path := strings.NewReplacer("k8s.io/api/", "", "k8s.io/apimachinery/pkg/apis/", "", "k8s.io/apimachinery/pkg/", "").Replace(t.PkgPath())
	name := path + "." + t.Name()
	if _, known := w.types[name]; !known {
		w.types[name] = "" // the type may contain itself
		w.types[name] = strings.Join(w.fieldsOf(t), " ")
	}
	return name
}

// fieldsOf returns the JSON fields of a struct, including those of inlined structs.
func (w *typeWriter) fieldsOf(t reflect.Type) (fields []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case name == "" && (field.Anonymous || strings.Contains(options, "inline")):
			fields = append(fields, w.fieldsOf(field.Type)...)
		case name != "":
			fields = append(fields, name+"="+w.typeOf(field.Type))
		}
	}
	return fields
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
