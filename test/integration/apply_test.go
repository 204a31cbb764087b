package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestApplyingAPolicyAgainChangesNothing applies all samples, and a policy with every field, twice to one cluster: like
// kubectl apply, with server-side apply, and with a comparison like Argo CD's.
func TestApplyingAPolicyAgainChangesNothing(t *testing.T) {
	w := newEnv(t)
	written := w.manifests("../../samples/*/policy.yaml", "testdata/every-field.yaml")
	for name, apply := range map[string]func(*unstructured.Unstructured) *unstructured.Unstructured{
		"kubectl apply": w.applyByPatch, "server-side apply": w.applyOnServer,
	} {
		first := map[*unstructured.Unstructured]*unstructured.Unstructured{}
		for _, policy := range written {
			first[policy] = apply(policy)
			if diff := cmp.Diff(policy.Object, asWritten(first[policy].Object, policy.Object)); diff != "" {
				t.Errorf("%s: %s: -written +stored\n%s", name, policy.GetName(), diff)
			}
		}
		for _, policy := range written {
			if diff := cmp.Diff(first[policy].Object, apply(policy).Object); diff != "" {
				t.Errorf("%s: the second apply changes %s: -first +second\n%s", name, policy.GetName(), diff)
			}
		}
		for _, policy := range first {
			expect.NoError(t, w.Client.Delete(w.Context(), policy))
		}
	}
}

// manifests returns the policies of files. It creates the namespaces that the comments of the files tell users to create.
func (w *env) manifests(patterns ...string) (policies []*unstructured.Unstructured) {
	w.Helper()
	namespaces := map[string]bool{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			w.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			expect.NoError(w, err)
			for _, command := range regexp.MustCompile(`(?m)^#   kubectl create namespace (\S+)$`).FindAllSubmatch(data, -1) {
				namespaces[string(command[1])] = true
			}
			policies = append(policies, w.documents(file, data)...)
		}
	}
	for name := range namespaces {
		w.temporary(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return policies
}

func (w *env) documents(file string, data []byte) (objects []*unstructured.Unstructured) {
	w.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			w.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, object)
	}
}

// applyByPatch does the same as kubectl apply for custom resources, and returns the stored object.
func (w *env) applyByPatch(written *unstructured.Unstructured) *unstructured.Unstructured {
	w.Helper()
	desired := written.DeepCopy()
	desired.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(w.json(written))})
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(written.GroupVersionKind())
	err := w.Get(w.Context(), client.ObjectKeyFromObject(written), live)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	if err != nil {
		w.create(desired)
		return desired
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), w.json(desired), w.json(live))
	if err != nil || string(patch) != "{}" {
		w.Errorf("%s: the second apply sends a patch: %s, %v", written.GetName(), patch, err)
	}
	expect.NoError(w, w.Patch(w.Context(), live, client.RawPatch(types.MergePatchType, patch)))
	return live
}

// applyOnServer uses server-side apply. It reports an error if a dry run returns another object.
func (w *env) applyOnServer(written *unstructured.Unstructured) *unstructured.Unstructured {
	w.Helper()
	apply := func(options ...client.ApplyOption) *unstructured.Unstructured {
		object := written.DeepCopy()
		if err := w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(object), append(options, client.FieldOwner("gitops"))...); err != nil {
			w.Fatalf("apply %s: %v", written.GetName(), err)
		}
		return object
	}
	stored := apply()
	if diff := cmp.Diff(stored.Object, apply(client.DryRunAll).Object); diff != "" {
		w.Errorf("%s: a dry run shows a change: -stored +dry run\n%s", written.GetName(), diff)
	}
	return stored
}

func (w *env) json(object *unstructured.Unstructured) []byte {
	w.Helper()
	data, err := json.Marshal(object)
	expect.NoError(w, err)
	return data
}

// asWritten is a live object without the fields that the manifest lacks. Lists count as a whole.
func asWritten(live, written any) any {
	fields, isObject := written.(map[string]any)
	from, _ := live.(map[string]any)
	if !isObject || from == nil {
		return live
	}
	common := map[string]any{}
	for name, value := range from {
		if field, has := fields[name]; has {
			common[name] = asWritten(value, field)
		}
	}
	return common
}
