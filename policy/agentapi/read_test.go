// SPDX-License-Identifier: Apache-2.0

package agentapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// written is the controller's object with one policy and two rules, one of which waits for approval.
func written(t *testing.T) string {
	t.Helper()
	image := v1alpha1.Target{APIVersion: "node.sunset-k8s.io/v1alpha1", Kind: "Image"}
	data, err := json.Marshal(&v1alpha1.NodeImageRules{
		ObjectMeta: metav1.ObjectMeta{Name: "rules"},
		Policies: []v1alpha1.NodeImagePolicy{{
			Name: "p", UID: "1", Generation: 3, Hash: "h", Unapproved: []string{"web"}, Approvals: []string{"g", "h"},
			Spec: v1alpha1.ClusterRetentionPolicySpec{Mode: v1alpha1.Enforce, Rules: []v1alpha1.Rule{
				{Name: "all", Target: image, Eligible: "true", TTL: "7d"},
				{Name: "web", Target: image, Eligible: "true", TTL: "1d", NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "web"}}},
			}},
		}},
		Known: []v1alpha1.NodeImageKnownPolicy{{Name: "p", UID: "1", Generation: 3}, {Name: "jobs", UID: "2", Generation: 1}},
	})
	expect.NoError(t, err)
	return string(data)
}

func TestRead(t *testing.T) {
	told, err := agentapi.Read([]byte(written(t)))
	expect.NoError(t, err)
	p := told.Policies[0]
	if p.Name != "p" || p.UID != "1" || p.Generation != 3 || p.Hash != "h" || p.Mode != v1alpha1.Enforce || len(p.Problems) > 0 {
		t.Errorf("read %+v", p)
	}
	expect.Equal(t, "approvals", []string{"g", "h"}, p.Approvals)
	if p.Gate.Covers("", "all") || !p.Gate.Covers("", "web") {
		t.Error("the wrong rules wait for approval")
	}
	if rules := told.On(map[string]string{"role": "build"})[0].Rules; len(rules) != 1 || rules[0].ID.Rule != "all" {
		t.Errorf("on another node: %d rules", len(rules))
	}
	if rules := told.On(map[string]string{"role": "web"})[0].Rules; len(rules) != 2 {
		t.Errorf("on a node for the web: %d rules", len(rules))
	}
}

func TestReadReportsUnknownFields(t *testing.T) {
	for name, change := range map[string][2]string{
		"a field of the object": {`"policies":`, `"paused":true,"policies":`},
		"a field of a policy":   {`"hash":"h"`, `"hash":"h","paused":true`},
		"not JSON":              {`{`, `[`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := agentapi.Read([]byte(strings.Replace(written(t), change[0], change[1], 1))); err == nil {
				t.Error("no error")
			}
		})
	}
	told, err := agentapi.Read([]byte(strings.Replace(written(t), `"mode":"Enforce"`, `"mode":"Enforce","paused":true`, 1)))
	expect.NoError(t, err)
	if len(told.Policies[0].Problems) == 0 {
		t.Error("an unknown field of a spec is not a problem")
	}
}

func TestCompare(t *testing.T) {
	policy := func(uid types.UID, generation int64) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n" + string(uid), UID: uid, Generation: generation}}
	}
	told, err := agentapi.Read([]byte(written(t)))
	expect.NoError(t, err)
	for name, test := range map[string]struct {
		now  []metav1.PartialObjectMetadata
		want string // in the error; empty for none
	}{
		"unchanged": {[]metav1.PartialObjectMetadata{policy("1", 3), policy("2", 1)}, ""},
		"edited":    {[]metav1.PartialObjectMetadata{policy("1", 4), policy("2", 1)}, "n1 has changed"},
		"created":   {[]metav1.PartialObjectMetadata{policy("1", 3), policy("2", 1), policy("3", 1)}, "n3 has changed"},
		"deleted":   {[]metav1.PartialObjectMetadata{policy("1", 3)}, "1 policies were deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			err := told.Compare(test.now)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
