// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/admission"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// fakeCluster is a cluster that serves Jobs, ConfigMaps and StorageClasses.
type fakeCluster struct {
	allowed  []string // the author's permissions, as "VERB RESOURCE"
	asked    []string
	err      error         // of each access review
	slowness time.Duration // of OpenAPI
	objects  []string      // namespaces with an object of every kind

	archive *v1alpha1.RetentionArchive // "history"; nil if it does not exist

	reads, atOnce, mostAtOnce atomic.Int64 // of OpenAPI
}

func (w *fakeCluster) ask(_ context.Context, question *authorizationv1.SubjectAccessReview) error {
	a := question.Spec.ResourceAttributes
	right := strings.TrimSpace(fmt.Sprintf("%s %s %s", a.Verb, a.Resource, a.Name))
	w.asked = append(w.asked, right)
	question.Status.Allowed = slices.Contains(w.allowed, right) && question.Spec.User == "ann" && a.Namespace == "team"
	return w.err
}

func (w *fakeCluster) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, []*metav1.APIResourceList{{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job", Verbs: []string{"list"}}}}}, nil
}

func (w *fakeCluster) Paths() (map[string]openapi.GroupVersion, error) {
	w.reads.Add(1)
	w.mostAtOnce.Store(max(w.mostAtOnce.Load(), w.atOnce.Add(1)))
	defer w.atOnce.Add(-1)
	time.Sleep(w.slowness)
	return nil, errors.New("no OpenAPI")
}

func (w *fakeCluster) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if o, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.Labels = map[string]string{"kubernetes.io/metadata.name": key.Name}
		return nil
	}
	return errors.New("forbidden")
}

func (w *fakeCluster) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if all, ok := list.(*v1alpha1.RetentionArchiveList); ok && w.archive != nil {
		all.Items = []v1alpha1.RetentionArchive{*w.archive}
	}
	found, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok {
		return nil
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	found.Items = nil
	if found.Kind == "NamespaceList" {
		for _, name := range []string{"team", "other", "kube-system"} {
			found.Items = append(found.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return nil
	}
	for _, namespace := range w.objects {
		if o.Namespace == "" || o.Namespace == namespace {
			found.Items = append(found.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
		}
	}
	return nil
}

func (w *fakeCluster) reviewer(t *testing.T) *admission.Reviewer {
	t.Helper()
	compiler := fixture.Compiler(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}, meta.RESTScopeRoot)
	return &admission.Reviewer{
		Compiler: compiler, Protection: policy.DefaultProtection(), Mapper: mapper, Kinds: w, Documents: w, Live: w, CreateReview: w.ask,
	}
}

// review reviews a request of user ann that replaces one policy, which may be empty, by another.
func (w *fakeCluster) review(t *testing.T, before, after string) webhook.Response {
	t.Helper()
	return w.reviewer(t).Handle(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: "team", UserInfo: authenticationv1.UserInfo{Username: "ann"},
		Object: object(t, after), OldObject: object(t, before),
	}})
}

func object(t *testing.T, text string) runtime.RawExtension {
	t.Helper()
	if text == "" {
		return runtime.RawExtension{}
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	expect.NoError(t, err)
	return runtime.RawExtension{Raw: data}
}

const own = `
apiVersion: sunset-k8s.io/v1alpha1
kind: RetentionPolicy
metadata: {namespace: team, name: p}
spec:
  mode: DryRun
  serviceAccountName: cleaner
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 1h
  - name: maps
    target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {kept: briefly}}}
    eligible: "true"
    startTime: object.metadata.creationTimestamp
    ttl: 1h
`

const (
	limits  = "  limits: {maxDeletions: 1, window: 1h}\n"
	windows = "  windows: [{schedule: 0 22 * * *, duration: 1h}]\n"
	freezes = "  freezes: [{from: '2026-12-20T00:00:00Z', to: '2026-12-31T00:00:00Z'}]\n"
)

func TestReviewChecksAuthorPermissions(t *testing.T) {
	mayAll := []string{"create pods", "list jobs", "delete jobs", "list configmaps", "delete configmaps"}
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"new policy: all":             {"", own, mayAll},
		"unchanged: none":             {own, own, nil},
		"changed rule: its kind":      {own, strings.Replace(own, `"true"`, `"false"`, 1), []string{"create pods", "list configmaps", "delete configmaps"}},
		"rule removed: all others":    {own, own[:strings.Index(own, "  - name: maps")], []string{"create pods", "list jobs", "delete jobs"}},
		"new limits: none":            {own, own + limits, nil},
		"higher limits: all":          {own + limits, own + strings.Replace(limits, "1,", "2,", 1), mayAll},
		"no limits any more: all":     {own + limits, own, mayAll},
		"enforced: all":               {own, strings.Replace(own, "DryRun", "Enforce", 1), mayAll},
		"no longer enforced: none":    {strings.Replace(own, "DryRun", "Enforce", 1), own, nil},
		"suspended: none":             {own, strings.Replace(own, "DryRun", "Suspend", 1), nil},
		"another account: all":        {own, strings.Replace(own, "cleaner", "other", 1), mayAll},
		"new variable: all":           {own, own + "  variables: [{name: a, expression: 'true'}]\n", mayAll},
		"new windows: all":            {own, own + windows, mayAll},
		"longer windows: all":         {own + windows, own + strings.Replace(windows, "1h", "2h", 1), mayAll},
		"no windows any more: all":    {own + windows, own, mayAll},
		"new freeze: none":            {own, own + freezes, nil},
		"changed freeze: all":         {own + freezes, own + strings.Replace(freezes, "31T", "28T", 1), mayAll},
		"no freeze any more: all":     {own + freezes, own, mayAll},
		"suspended and changed: kind": {own, strings.NewReplacer("DryRun", "Suspend", `"true"`, `"false"`).Replace(own), []string{"create pods", "list configmaps", "delete configmaps"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeCluster{allowed: mayAll}
			if response := w.review(t, test.before, test.after); !response.Allowed {
				t.Errorf("refused: %s", response.Result.Message)
			}
			expect.Equal(t, "asked", test.want, w.asked)
		})
	}
}

// TestKindIsNoLongerServed: the author can still change other rules, and let the policy delete less.
func TestKindIsNoLongerServed(t *testing.T) {
	before := strings.NewReplacer("kind: ConfigMap", "kind: Gone", "DryRun", "Enforce").Replace(own)
	w := &fakeCluster{allowed: []string{"create pods", "list jobs", "delete jobs"}}
	for name, test := range map[string]struct {
		after   string
		allowed bool
	}{
		"another rule is changed": {strings.Replace(before, "ttl: 1h", "ttl: 2h", 1), true},
		"dry run":                 {strings.Replace(before, "Enforce", "DryRun", 1), true},
		"its rule is changed":     {strings.Replace(before, `"true"`, `"false"`, 1), false},
		"new limits":              {before + limits, true},
		"another account":         {strings.Replace(before, "serviceAccountName: cleaner", "serviceAccountName: other", 1), false},
	} {
		if response := w.review(t, before, test.after); response.Allowed != test.allowed {
			t.Errorf("%s: allowed %t, %v", name, response.Allowed, response.Result)
		}
	}
}

func TestReviewReportsAllProblemsTogether(t *testing.T) {
	w := &fakeCluster{allowed: []string{"impersonate serviceaccounts other", "list jobs"}}
	response := w.review(t, "", strings.NewReplacer("finished(object)", "finshed(object)", "kind: ConfigMap", "kind: Secret", "ttl: 1h", "ttl: soon").Replace(own))
	if response.Allowed || response.Result.Code != 422 || response.Result.Reason != metav1.StatusReasonInvalid {
		t.Errorf("%+v", response.Result)
	}
	for _, want := range []string{
		`spec.rules[1].ttl: "soon" is not a duration`,
		"spec.rules[1].target.kind: no matches for kind \"Secret\" in version \"v1\"",
		"spec.serviceAccountName: the rules act as service account cleaner, and ann may neither create Pods in namespace team nor impersonate it",
		"spec.rules[0].target.kind: ann may not delete jobs.batch in namespace team",
	} {
		if !strings.Contains(response.Result.Message, want) {
			t.Errorf("no %q in\n%s", want, response.Result.Message)
		}
	}
}

func TestReviewShowsExpressionErrors(t *testing.T) {
	w := &fakeCluster{allowed: []string{"create pods", "list jobs", "delete jobs", "list configmaps", "delete configmaps"}}
	response := w.review(t, "", strings.Replace(own, "finished(object)", "finshed(object)", 1))
	for _, want := range []string{"spec.rules[0].eligible:1:1: unknown function", "    finshed(object)\n", "    ^"} {
		if response.Allowed || !strings.Contains(response.Result.Message, want) {
			t.Errorf("no %q in\n%s", want, response.Result.Message)
		}
	}
}

func TestReviewAllowsSuspendingInvalidPolicies(t *testing.T) {
	wrong := strings.NewReplacer("DryRun", "Enforce", `"true"`, "tru").Replace(own)
	for after, want := range map[string]bool{
		strings.Replace(wrong, "Enforce", "Suspend", 1):                                      true,
		strings.Replace(wrong, "name: p}", "name: p, labels: {a: b}}", 1):                    true,
		strings.NewReplacer("Enforce", "Suspend", "finished(object)", "true").Replace(wrong): false,
		strings.Replace(wrong, "Enforce", "DryRun", 1):                                       false,
	} {
		if response := (&fakeCluster{}).review(t, wrong, after); response.Allowed != want {
			t.Errorf("allowed %v; want %v: %s", response.Allowed, want, after)
		}
	}
}

// cluster returns the same policy as a ClusterRetentionPolicy.
func cluster(rules string) string {
	return strings.NewReplacer("kind: RetentionPolicy", "kind: ClusterRetentionPolicy", "  serviceAccountName: cleaner\n", "", "namespace: team, ", "").Replace(rules)
}

// referring returns a ClusterRetentionPolicy with references.
func referring(apiVersion, kind, names string) string {
	return cluster(own) + fmt.Sprintf("  references:\n  - from: {apiVersion: %s, kind: %s}\n    to: Secret\n    names: '%s'\n", apiVersion, kind, names)
}

func TestInvalidReferencesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		referring("v1", "Secret", "[object.data.next]"):      "spec.references[0].names:1:1: only the metadata of a Secret can be read, but this reads data",
		referring("batch/v1", "Job", "[objekt.spec.secret]"): "spec.references[0].names:1:2: unknown name \"objekt\" (did you mean object?)\n    [objekt.spec.secret]\n     ^",
		referring("batch/v1", "Job", "[]") + "    name: x\n": "spec.references[0].name: unknown field",
		strings.Replace(own, "  serviceAccountName", "  references: []\n  serviceAccountName", 1): "spec.references: unknown field " +
			"(references apply to the whole cluster: write them in a ClusterRetentionPolicy)",
	} {
		response := (&fakeCluster{}).review(t, "", text)
		if response.Allowed || !strings.Contains(response.Result.Message, want) {
			t.Errorf("allowed %v; %q missing in\n%s", response.Allowed, want, response.Result.Message)
		}
	}
}

func TestClusterPolicies(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		objects []string
		want    []string
	}{
		"no warning": {cluster(own), []string{"other"}, nil},
		"unknown kind": {strings.Replace(cluster(own), "kind: Job", "kind: Jobs", 1), []string{"other"},
			[]string{"spec.rules[0].target.kind: no matches for kind \"Jobs\" in version \"batch/v1\" (did you mean Job?)"}},
		"images with a TTL below 1h": {
			strings.NewReplacer("{apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {kept: briefly}}}", "{apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}",
				"object.metadata.creationTimestamp", "object.status.firstSeen", "ttl: 1h", "ttl: 59m").Replace(cluster(own)), []string{"other"},
			[]string{"spec.rules[1].ttl: images that are removed after 59m may be pulled again repeatedly " +
				"(write 1h or longer; to free disk space, write images.highThresholdPercent and lowThresholdPercent)"}},
		"rules without objects": {cluster(own), nil, []string{"spec.rules[0].target: matches no Job now", "spec.rules[1].target: matches no ConfigMap now"}},
		"rules that match only protected objects": {cluster(own), []string{"kube-system"}, []string{
			"spec.rules[0].target: matches no Job now", "spec.rules[1].target: matches no ConfigMap now"}},
		"selector without a namespace": {strings.Replace(cluster(own), "spec:\n", "spec:\n  namespaceSelector: {matchLabels: {a: b}}\n", 1), []string{"other"},
			[]string{"spec.namespaceSelector: selects no namespace now"}},
		"known kind of referrers": {referring("batch/v1", "Job", "[object.spec.secret]"), []string{"other"}, nil},
		"unknown kind of referrers": {referring("batch/v1", "Jobs", "[object.spec.secret]"), []string{"other"},
			[]string{"spec.references[0].from.kind: no matches for kind \"Jobs\" in version \"batch/v1\" (did you mean Job?)"}},
		"cluster-scoped kind": {strings.NewReplacer("batch/v1", "storage.k8s.io/v1", "kind: Job", "kind: StorageClass").Replace(cluster(own)), []string{"", "other"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeCluster{objects: test.objects}
			response := w.review(t, "", test.text)
			if !response.Allowed || len(w.asked) > 0 {
				t.Errorf("allowed %v, access reviews %v: %s", response.Allowed, w.asked, response.Result.Message)
			}
			expect.Equal(t, "warnings", test.want, response.Warnings)
		})
	}
}

func TestReviewRefusesWhenPermissionsAreUnknown(t *testing.T) {
	w := &fakeCluster{allowed: []string{"create pods"}, err: errors.New("no answer")}
	if response := w.review(t, "", own); response.Allowed || response.Result.Code != 500 || !strings.Contains(response.Result.Message, "no answer") {
		t.Errorf("%v: %+v", response.Allowed, response.Result)
	}
}

func TestReviewDoesNotWaitForSlowWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fakeCluster{slowness: time.Minute}
		began := time.Now()
		response := w.review(t, "", cluster(own))
		if !response.Allowed {
			t.Errorf("%+v", response)
		}
		expect.Equal(t, "warnings", []string{"not all checks for warnings ended within 3s; see the policy's status"}, response.Warnings)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		time.Sleep(2 * w.slowness) // until the checks have ended
	})
}

// TestSchemasAreReadOneAtATime: each schema needs megabytes, and any author can cause many reads at once.
func TestSchemasAreReadOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const authors = 20
		w := &fakeCluster{slowness: 100 * time.Millisecond}
		r := w.reviewer(t)
		several := strings.ReplaceAll(cluster(own), "apiVersion: v1, kind: ConfigMap", "apiVersion: batch/v1, kind: Job")
		var all sync.WaitGroup
		for range authors {
			all.Go(func() {
				response := r.Handle(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: object(t, several)}})
				if !response.Allowed {
					t.Errorf("%+v", response.Result)
				}
			})
		}
		all.Wait()
		expect.Equal(t, "read at once", 1, w.mostAtOnce.Load())
		if reads := w.reads.Load(); reads != authors {
			t.Errorf("%d reads for %d policies with one group each", reads, authors)
		}
	})
}

func TestWarningsAreNotWithoutEnd(t *testing.T) {
	var p map[string]any
	expect.NoError(t, yaml.Unmarshal([]byte(cluster(own)), &p))
	var rules []any
	for i := range 30 {
		rules = append(rules, map[string]any{"name": fmt.Sprintf("r%d", i), "target": map[string]any{"apiVersion": "a/v1", "kind": "B"},
			"eligible": "true", "startTime": "object.metadata.creationTimestamp", "ttl": "1h"})
	}
	p["spec"].(map[string]any)["rules"] = rules
	text, err := json.Marshal(p)
	expect.NoError(t, err)
	response := (&fakeCluster{}).review(t, "", string(text))
	if got := response.Warnings; len(got) != 11 || got[10] != "and 20 more; see the policy's status" {
		t.Errorf("%d warnings: %v", len(got), got)
	}
}

// TestExpressionsOfForbiddenRequestsAreNotCompiled: only an author with permission to delete the targets sees errors of
// expressions.
func TestExpressionsOfForbiddenRequestsAreNotCompiled(t *testing.T) {
	w := &fakeCluster{}
	response := w.review(t, "", strings.Replace(own, "finished(object)", "nothing(object)", 1))
	if response.Allowed || strings.Contains(response.Result.Message, "nothing") || !strings.Contains(response.Result.Message, "may not list and delete") {
		t.Errorf("got %q", response.Result.Message)
	}
}
