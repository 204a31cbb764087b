// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// discovering counts how often the kinds of the cluster are discovered.
type discovering struct {
	*fakeCluster
	times int
}

func (d *discovering) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	d.times++
	return d.fakeCluster.ServerGroupsAndResources()
}

// TestReviewAsksForTheKindsOnce: each discovery needs a request for every version of every group.
func TestReviewAsksForTheKindsOnce(t *testing.T) {
	var rules strings.Builder
	for i := range 64 {
		fmt.Fprintf(&rules, "  - {name: r%d, target: {apiVersion: batch/v1, kind: Jobs%d}, eligible: 'true', ttl: 1h}\n", i, i)
	}
	d := &discovering{fakeCluster: &fakeCluster{}}
	r := d.reviewer(t)
	r.Kinds = d
	policy := own[:strings.Index(own, "  - name: jobs")] + rules.String()
	response := r.Handle(t.Context(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: "team", UserInfo: authenticationv1.UserInfo{Username: "ann"}, Object: object(t, policy),
	}})
	if response.Allowed || d.times != 1 {
		t.Errorf("allowed %t, discovered %d times", response.Allowed, d.times)
	}
}
