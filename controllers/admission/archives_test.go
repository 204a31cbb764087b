// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestReviewWarnsAboutArchives: the webhook accepts rules that cannot archive at present, because the RetentionArchive may be created
// later, and warns about them. It also warns if a rule stops to archive.
func TestReviewWarnsAboutArchives(t *testing.T) {
	archives := strings.Replace(own, "    ttl: 1h\n", "    ttl: 1h\n    archive: {to: history}\n", 1)
	redacts := func(paths string) string {
		return strings.Replace(archives, "{to: history}", `{to: history, dependents: [Pod], redact: [`+paths+`]}`, 1)
	}
	named := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": name}}
	}
	for name, test := range map[string]struct {
		before, after string
		allow         *metav1.LabelSelector
		missing       bool
		want          string // empty for no warning
	}{
		"a RetentionArchive that allows the namespace": {"", archives, named("team"), false, ""},
		"one that allows another namespace":            {"", archives, named("other"), false, `RetentionArchive "history" does not allow RetentionPolicies of namespace team`},
		"one that allows none":                         {"", archives, nil, false, `RetentionArchive "history" allows no RetentionPolicies`},
		"none":                                         {"", archives, nil, true, `RetentionArchive "history" does not exist`},
		"paths for the Job, but not for its Pods": {"", redacts(`"spec.template.spec.containers[*].env[*].value"`), named("team"), false,
			"to remove these too, add spec.containers[*].env[*].value"},
		"paths for both":              {"", redacts(`"spec.template.spec.containers[*].env[*].value", ".spec.containers[*].env[*].value"`), named("team"), false, ""},
		"the rule no longer archives": {archives, own, named("team"), false, "the rule no longer archives"},
		"the rule never did":          {own, strings.Replace(own, `"true"`, `"false"`, 1), nil, true, ""},
		"the rule is removed":         {archives, strings.Replace(own[:strings.Index(own, "  - name: jobs")]+own[strings.Index(own, "  - name: maps"):], "1h", "2h", 1), nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeCluster{allowed: []string{"create pods", "list jobs", "delete jobs", "list configmaps", "delete configmaps"}}
			if !test.missing {
				w.archive = &v1alpha1.RetentionArchive{ObjectMeta: metav1.ObjectMeta{Name: "history"}, Spec: v1alpha1.ArchiveSpec{AllowNamespaces: test.allow}}
			}
			response := w.review(t, test.before, test.after)
			if !response.Allowed {
				t.Fatal(response.Result.Message)
			}
			about := slices.DeleteFunc(response.Warnings, func(text string) bool { return !strings.HasPrefix(text, "spec.rules[0].archive: ") })
			expect.Equal(t, "warnings", test.want != "", len(about) == 1)
			if test.want != "" && !strings.Contains(strings.Join(about, "\n"), test.want) {
				t.Errorf("%q does not say %q", about, test.want)
			}
		})
	}
}

// TestReviewOfArchives: the webhook refuses a RetentionArchive that the controller could not use, and names each field.
func TestReviewOfArchives(t *testing.T) {
	const valid = `{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionArchive, metadata: {name: history}, spec: {url: "s3://bucket?region=eu-central-1"}}`
	for name, test := range map[string]struct {
		text  string
		wants []string // empty if it is accepted
	}{
		"valid": {valid, nil},
		"all wrong": {strings.Replace(valid, `?region=eu-central-1"`, `?regoin=x", retain: 1h, legalHolds: [/segments/], encryption: {recipients: [age1x]}`, 1), []string{
			"this RetentionArchive cannot be accepted:", `spec.url: it has the parameter "regoin"`, "spec.retain: it is shorter than a day",
			`spec.legalHolds[0]: no name of an object begins with "/segments/"`, "spec.encryption.recipients[0]: it is not a public key of age",
		}},
		"the url of another": {strings.Replace(valid, "bucket", "backups", 1), []string{
			`spec.url: RetentionArchive "history" has the same bucket and prefix`,
		}},
		"a newer field": {strings.Replace(valid, "{url", "{kms: key, url", 1), []string{"spec.kms: unknown field"}},
	} {
		t.Run(name, func(t *testing.T) {
			other := &v1alpha1.RetentionArchive{ObjectMeta: metav1.ObjectMeta{Name: "history"}, Spec: v1alpha1.ArchiveSpec{URL: "s3://backups/"}}
			response := (&fakeCluster{archive: other}).reviewer(t).Handle(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Kind: metav1.GroupVersionKind(v1alpha1.RetentionArchiveKind), Object: object(t, test.text),
			}})
			expect.Equal(t, "allowed", test.wants == nil, response.Allowed)
			for _, want := range test.wants {
				if !strings.Contains(response.Result.Message, want) {
					t.Errorf("no %q in\n%s", want, response.Result.Message)
				}
			}
		})
	}
}
