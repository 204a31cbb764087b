// SPDX-License-Identifier: Apache-2.0

package check

import (
	"os"
	"regexp"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestLeading(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		holder string
		age    time.Duration
		want   Result
	}{
		"renewed now":                         {"a", 0, Pass},
		"renewed by a clock that is ahead":    {"a", -3 * time.Second, Pass},
		"the longest age":                     {"a", 15*time.Second + skew.Max, Pass},
		"one second longer":                   {"a", 16*time.Second + skew.Max, Fail},
		"released by a leader that shut down": {"", 0, Fail},
	} {
		t.Run(name, func(t *testing.T) {
			renewed := metav1.NewMicroTime(at.Add(-test.age))
			lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &test.holder, RenewTime: &renewed, LeaseDurationSeconds: ptr.To[int32](15),
			}}
			expect.Equal(t, "result", test.want, leading(lease, at).Result)
		})
	}
}

func TestReplicas(t *testing.T) {
	for name, test := range map[string]struct {
		ready, replicas int32
		want            Result
	}{"all": {2, 2, Pass}, "some": {1, 2, Warn}, "none": {0, 2, Fail}, "scaled to 0": {0, 0, Fail}} {
		got := replicasOf(&cluster.Controller{Namespace: "n", Name: "c", Ready: test.ready, Replicas: test.replicas})
		expect.Equal(t, name, test.want, got.Result)
	}
}

// TestAdmissionPolicies: the names are those of the manifests.
func TestAdmissionPolicies(t *testing.T) {
	manifests, err := os.ReadFile("../../../crds/admission/policies.yaml")
	expect.NoError(t, err)
	var names []string
	for _, match := range regexp.MustCompile(`(?m)^kind: ValidatingAdmissionPolicy\nmetadata:\n  name: (.*)$`).FindAllStringSubmatch(string(manifests), -1) {
		names = append(names, match[1])
	}
	expect.Equal(t, "names", names, admissionPolicies)
}
