// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
)

// published reads the OpenAPI document of a group version from the Kubernetes source of the test control plane.
func published(t *testing.T, groupVersion string) *spec3.OpenAPI {
	t.Helper()
	expect.NoError(t, inputs.Files("../../../test/controlplane/go.mod"))
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	command.Dir, command.Env = "../../../test/controlplane", append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod")
	dir, err := command.Output()
	if err != nil || strings.TrimSpace(string(dir)) == "" {
		t.Skip("the source of Kubernetes is not in the module cache")
	}
	name := "apis__" + strings.ReplaceAll(groupVersion, "/", "__")
	if !strings.Contains(groupVersion, "/") {
		name = "api__" + groupVersion
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "api/openapi-spec/v3", name+"_openapi.json"))
	if os.IsNotExist(err) {
		return nil // an alpha version that the API server does not serve by default
	}
	expect.NoError(t, err)
	document := &spec3.OpenAPI{}
	expect.NoError(t, json.Unmarshal(data, document))
	return document
}

// TestBuiltinKindsAreAsPublished compares all fields and the scope of every kind with the schema of the API server, so that a
// rule has the same warnings without a cluster.
func TestBuiltinKindsAreAsPublished(t *testing.T) {
	known, compared := BuiltinKinds(), 0
	for _, list := range known.served {
		document := published(t, list.GroupVersion)
		if document == nil {
			continue
		}
		lists := map[string]bool{} // kinds that can be listed, and whether they are namespaced
		for path, item := range document.Paths.Paths {
			if item.Get != nil && item.Get.Extensions["x-kubernetes-action"] == "list" {
				kind, _ := item.Get.Extensions["x-kubernetes-group-version-kind"].(map[string]any)
				name := fmt.Sprint(kind["kind"], " ", path[strings.LastIndexByte(path, '/')+1:])
				lists[name] = lists[name] || strings.Contains(path, "/namespaces/{namespace}/")
			}
		}
		have := map[string]bool{}
		gv, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			have[r.Kind+" "+r.Name] = r.Namespaced
			want, err := openapi.SchemaOf(document, gv.WithKind(r.Kind))
			if err != nil {
				t.Error(err)
				continue
			}
			compared++
			expect.Equal(t, list.GroupVersion+" "+r.Kind, typesIn(*want), typesIn(*known.schemas[gv.WithKind(r.Kind)]()))
		}
		expect.Equal(t, "known kinds of "+list.GroupVersion, lists, have)
	}
	if compared < 60 {
		t.Errorf("%d kinds were compared", compared)
	}
}

// typesIn returns the types of all fields by path, as the type checker sees them.
func typesIn(s spec.Schema) map[string]string {
	types := map[string]string{}
	var walk func(s spec.Schema, path string)
	walk = func(s spec.Schema, path string) {
		values := s.AdditionalProperties
		if len(s.Type) != 1 || s.Type.Contains("number") || s.Type.Contains("object") && len(s.Properties) == 0 && (values == nil || values.Schema == nil) {
			types[path] = "anything"
			return
		}
		types[path] = s.Type[0]
		for name, field := range s.Properties {
			walk(field, path+"."+name)
		}
		if s.Items != nil {
			walk(*s.Items.Schema, path+"[]")
		}
		if values != nil {
			walk(*values.Schema, path+"{}")
		}
	}
	walk(s, "object")
	return types
}

func TestShortNames(t *testing.T) {
	for kind, want := range map[schema.GroupVersionKind]string{
		{Version: "v1", Kind: "Pod"}:                                           "[po]",
		{Group: "apps", Version: "v1", Kind: "Deployment"}:                     "[deploy]",
		{Group: "batch", Version: "v1", Kind: "Job"}:                           "[]",
		{Group: "serving.knative.dev", Version: "v1", Kind: "Service"}:         "[]",
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: "[hpa]",
	} {
		if got := fmt.Sprint(ShortNames(kind)); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
	for kind := range shortNames {
		found := false
		for gvk := range BuiltinKinds().schemas {
			found = found || gvk.Kind == kind
		}
		if !found {
			t.Errorf("no kind %s", kind)
		}
	}
}

func TestDefinitionNamesTheStorageVersionIfItIsServed(t *testing.T) {
	for versions, want := range map[string]string{
		"{name: v1, served: true, storage: true}, {name: v2, served: true}":    "v1",
		"{name: v1, served: true}, {name: v2, served: true, storage: true}":    "v2",
		"{name: v1, served: true}, {name: v2, served: false, storage: true}":   "v1",
		"{name: v1, served: false}, {name: v2, served: false, storage: true}":  "",
		"{name: v1, served: false, storage: true}, {name: v2, served: true}":   "v2",
		"{name: v1, served: true}, {name: v2, served: true}, {name: v3}, null": "v1",
	} {
		object := map[string]any{}
		expect.NoError(t, yaml.Unmarshal([]byte("{spec: {group: example.com, names: {plural: things, kind: Thing}, versions: ["+versions+"]}}"), &object))
		if d, _ := ReadDefinition(object); d.Kind.Version != want {
			t.Errorf("versions %s: Definition has version %q, want %q", versions, d.Kind.Version, want)
		}
	}
}
