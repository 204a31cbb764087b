// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// webhookRefusesArchives: the API server asks the webhook about new RetentionArchives.
func webhookRefusesArchives(t *testing.T) {
	w := newEnv(t)
	a := &v1alpha1.RetentionArchive{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: v1alpha1.ArchiveSpec{URL: "s3://bucket?regoin=eu-central-1"}}
	a.Spec.LegalHolds = []string{"/segments/"}
	if err := refused(w.Create(t.Context(), a), `spec.url: it has the parameter "regoin"`, "spec.legalHolds[0]: no name of an object begins with"); err != nil {
		t.Error(err)
	}
	a.Spec = v1alpha1.ArchiveSpec{URL: "s3://bucket?region=eu-central-1"}
	w.temporary(a)
	if err := refused(w.Patch(t.Context(), a, edit(`{"spec":{"encryption":{"recipients":["age1nothing"]}}}`)), "spec.encryption.recipients[0]: it is not a public key of age"); err != nil {
		t.Error(err)
	}
	expect.NoError(t, w.Patch(t.Context(), a, edit(`{"spec":{"retain":"90d"}}`)))
}
