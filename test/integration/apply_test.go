// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// strict refuses fields that the definitions do not have, as far as they do not preserve unknown fields.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

// TestApplyingAPolicyAgainChangesNothing applies the policies, archives and digests of each sample, and objects with every field of
// each kind that users write, twice: like kubectl apply --validate=strict, with server-side apply, and with a comparison like Argo
// CD's.
func TestApplyingAPolicyAgainChangesNothing(t *testing.T) {
	w := newEnv(t)
	for _, file := range w.files("../../samples/*/policy.yaml", "../../samples/unused/*/policy.yaml", "../../samples/combining/*/policy.yaml",
		"../../samples/combining/*/*/policy.yaml", "../../samples/*/archive.yaml", "../../samples/*/digest.yaml", "testdata/every-field.yaml") {
		if filepath.Base(filepath.Dir(file)) == "override-malformed" {
			continue // the API server refuses most of it
		}
		written := w.manifests(file)
		for _, object := range written { // the API server enforces admission policies for a moment after their deletion by another test
			cluster.Eventually(w, patience, func() error { return w.Create(w.Context(), object.DeepCopy(), client.DryRunAll) })
		}
		for name, apply := range map[string]func(*unstructured.Unstructured) *unstructured.Unstructured{
			"kubectl apply": w.applyByPatch, "server-side apply": w.applyOnServer,
		} {
			first := map[*unstructured.Unstructured]*unstructured.Unstructured{}
			for _, policy := range written {
				apply(policy) // the first write after the creation stores the default status
				first[policy] = apply(policy)
				expect.Equal(t, fmt.Sprintf("%s: %s: %s as stored", name, file, policy.GetName()), any(policy.Object), asWritten(first[policy].Object, policy.Object))
			}
			for _, policy := range written {
				expect.Equal(t, fmt.Sprintf("%s: %s: %s after the second apply", name, file, policy.GetName()), first[policy].Object, apply(policy).Object)
			}
			for _, policy := range first {
				expect.NoError(t, w.Client.Delete(w.Context(), policy))
			}
		}
	}
}

func (w *env) files(patterns ...string) (all []string) {
	w.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			w.Fatalf("%s: no files, %v", pattern, err)
		}
		all = append(all, files...)
	}
	return all
}

// manifests returns the policies of a file. It creates the namespaces that the comments of a sample tell users to create, and
// those of a sample without such comments.
func (w *env) manifests(file string) []*unstructured.Unstructured {
	w.Helper()
	data, err := os.ReadFile(file)
	expect.NoError(w, err)
	policies, commands := w.documents(file, data), regexp.MustCompile(`(?m)^#   kubectl create namespace (\S+)$`).FindAllSubmatch(data, -1)
	namespaces := sets.New[string]()
	for _, command := range commands {
		namespaces.Insert(string(command[1]))
	}
	for _, policy := range policies {
		if len(commands) == 0 && policy.GetNamespace() != "" {
			namespaces.Insert(policy.GetNamespace())
		}
	}
	for name := range namespaces {
		w.ensureNamespace(name)
	}
	return policies
}

// ensureNamespace creates a namespace until the test ends, unless another sample needed it already.
func (w *env) ensureNamespace(name string) {
	w.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := w.Get(w.Context(), client.ObjectKeyFromObject(namespace), namespace)
	if err == nil && namespace.DeletionTimestamp != nil { // of a test before, on the same control plane
		w.gone(namespace.DeepCopy())
		err = w.Get(w.Context(), client.ObjectKeyFromObject(namespace), namespace)
	}
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	if err != nil {
		w.temporary(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
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
		expect.NoError(w, w.Create(w.Context(), desired, strict))
		return desired
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), w.json(desired), w.json(live))
	if err != nil || string(patch) != "{}" {
		w.Errorf("%s: the second apply sends a patch: %s, %v", written.GetName(), patch, err)
	}
	expect.NoError(w, w.Patch(w.Context(), live, client.RawPatch(types.MergePatchType, patch), strict))
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
	expect.Equal(w, "a dry run of "+written.GetName(), stored.Object, apply(client.DryRunAll).Object)
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
