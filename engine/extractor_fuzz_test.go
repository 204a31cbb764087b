// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// FuzzReferences evaluates any expression as an Extractor on any object. The result is an error, or only valid names.
// The part of the object that the Extractor reads has the same result as the whole object.
func FuzzReferences(f *testing.F) {
	for i, names := range []string{
		"[object.spec.name]", "[{'name': object.spec.name, 'namespace': object.?spec.namespace.orValue('')}]", "object.spec.names",
		"configMapsIn(object.spec)", "secretsIn(object.?spec.template.spec.orValue({}))", "[object.?spec.ref]", "[{}]", "[['a']]", "object.spec.map(k, k)",
		"dyn(object.metadata)", "[object.spec.name + '']", "lists.range(1001).map(i, 'a' + string(i))", "[{'name': 'a', 'namespace': object.n}]", "[optional.of('a')]",
	} {
		f.Add(names, `{"metadata":{"name":"o","namespace":"shop"},"spec":{"name":"a","names":["b","","c.d"],"ref":{"name":"e","namespace":null},"template":{"spec":{}}}}`)
		f.Add(names, hostileObjects[i%len(hostileObjects)])
	}
	c := fixture.Compiler(f)
	f.Fuzz(func(t *testing.T, names, data string) {
		var whole map[string]any
		if json.Unmarshal([]byte(data), &whole) != nil || sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(data), &whole) != nil || whole == nil {
			t.Skip()
		}
		x, problems := c.Extractor(names, "spec.references[0].names")
		if (x == nil) != (len(problems) > 0) {
			t.Fatalf("extractor %v, problems %v", x, problems)
		}
		if x == nil {
			t.Skip()
		}
		e := c.NewEvaluator(t.Context())
		defer e.Close()
		for _, x := range []*engine.Extractor{x, x.Lenient()} {
			found, err := e.References(x, whole)
			checkReferences(t, found, err)
			part, decodeErr := engine.NewReferrerDecoder(x).Decode([]byte(data))
			if decodeErr != nil {
				t.Fatalf("%v, but encoding/json reads it", decodeErr)
			}
			again, errOfPart := e.References(x, part)
			if (err == nil) != (errOfPart == nil) || !cmp.Equal(sorted(found), sorted(again)) {
				t.Errorf("%s on %s returns %v, %v; on the part that it reads %v, %v", names, data, found, err, again, errOfPart)
			}
		}
	})
}

func checkReferences(t *testing.T, found []engine.Reference, err error) {
	t.Helper()
	if err != nil && len(found) > 0 {
		t.Errorf("%v in addition to error %v", found, err)
	}
	for _, r := range found {
		if len(validation.IsDNS1123Subdomain(r.Name)) > 0 || r.Namespace != "" && len(validation.IsDNS1123Label(r.Namespace)) > 0 {
			t.Errorf("no object can have the name %+v", r)
		}
	}
}

// sorted sorts and deduplicates, because a loop over a map has no defined order here.
func sorted(found []engine.Reference) []engine.Reference {
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b engine.Reference) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return slices.Compact(found)
}

// FuzzPodSpec compares the names that configMapsIn and secretsIn find in a PodSpec with a walk through the Go types of
// the Kubernetes API. The walk uses no paths: every value whose type names a ConfigMap or a Secret is a reference.
func FuzzPodSpec(f *testing.F) {
	for _, spec := range []string{
		`{}`,
		`{"imagePullSecrets":[{"name":"a"},{}],"volumes":[{"name":"v","secret":{"secretName":"b","optional":true}},{"name":"w","configMap":{"name":"c"}}]}`,
		`{"volumes":[{"projected":{"sources":[{"configMap":{"name":"a"}},{"secret":{"name":"b"}},{"downwardAPI":{}}]}},{"csi":{"nodePublishSecretRef":{"name":"c"}}}]}`,
		`{"containers":[{"name":"a","env":[{"name":"x","valueFrom":{"secretKeyRef":{"name":"a","key":"k"}}}],"envFrom":[{"configMapRef":{"name":"b"}},{"secretRef":{"name":"c"}}]}]}`,
		`{"initContainers":[{"envFrom":[{"configMapRef":{"name":"a"}}]}],"ephemeralContainers":[{"env":[{"valueFrom":{"configMapKeyRef":{"name":"b"}}}]}]}`,
		`{"volumes":[{"azureFile":{"secretName":"a"}},{"cephfs":{"secretRef":{"name":"b"}}},{"cinder":{"secretRef":{"name":"c"}}},{"flexVolume":{"secretRef":{"name":"d"}}}]}`,
		`{"volumes":[{"iscsi":{"secretRef":{"name":"a"}}},{"rbd":{"secretRef":{"name":"b"}}},{"scaleIO":{"secretRef":{"name":"c"}}},{"storageos":{"secretRef":{"name":"d"}}}]}`,
	} {
		f.Add([]byte(spec))
	}
	c := fixture.Compiler(f)
	configMaps, secrets := mustExtract(f, c, "configMapsIn(object.spec)"), mustExtract(f, c, "secretsIn(object.spec)")
	f.Fuzz(func(t *testing.T, data []byte) {
		var spec corev1.PodSpec
		var object map[string]any
		if strict, err := sigsjson.UnmarshalStrict(data, &spec); err != nil || len(strict) > 0 || sigsjson.UnmarshalCaseSensitivePreserveInts(data, &object) != nil {
			t.Skip() // the API server rejects such a PodSpec
		}
		walked := map[string][]string{}
		walk(walked, reflect.ValueOf(spec), "")
		e := c.NewEvaluator(t.Context())
		defer e.Close()
		for kind, x := range map[string]*engine.Extractor{"ConfigMap": configMaps, "Secret": secrets} {
			found, err := e.References(x, map[string]any{"spec": object})
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			names := []string{}
			for _, r := range found {
				names = append(names, r.Name)
			}
			if want := possible(walked[kind]); !slices.Equal(want, possible(names)) {
				t.Errorf("%s refers to %ss %q, but found %q", data, kind, want, names)
			}
		}
	})
}

func mustExtract(t testing.TB, c *engine.Compiler, names string) *engine.Extractor {
	t.Helper()
	x, problems := c.Extractor(names, "names")
	if x == nil {
		t.Fatal(problems)
	}
	return x.Lenient()
}

// walk collects the names in a value, by the kind of the object that they name. in is the type that contains the value.
func walk(found map[string][]string, v reflect.Value, in string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(found, v.Elem(), in)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(found, v.Index(i), in)
		}
	case reflect.Struct:
		if name, ok := v.Interface().(corev1.LocalObjectReference); ok {
			kind := "Secret"
			if strings.HasPrefix(in, "ConfigMap") {
				kind = "ConfigMap"
			}
			found[kind] = append(found[kind], name.Name)
			return
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Name == "SecretName" {
				found["Secret"] = append(found["Secret"], v.Field(i).String())
			} else if field.IsExported() {
				walk(found, v.Field(i), v.Type().Name())
			}
		}
	}
}

// possible returns the valid names, each once.
func possible(names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(validation.IsDNS1123Subdomain(n)) > 0 })
	slices.Sort(names)
	return slices.Compact(names)
}
