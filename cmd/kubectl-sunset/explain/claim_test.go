// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestPageExplainsTheDataOfAClaim: the page says which snapshot the rule makes, whether the claim waits for it, and what happens to
// the data of the volume.
func TestPageExplainsTheDataOfAClaim(t *testing.T) {
	rule := policy.RuleID{Policy: "p", Rule: "r"}
	const waits = "Sunset cannot delete objects that are due: SnapshotFailed in namespace shop, such as data: no space"
	for name, test := range map[string]struct {
		snapshot  *policy.ClaimSnapshot
		estimated bool
		action    policy.Action
		settings  string // NAME VALUE, without ttl
		blocks    []explain.Block
	}{
		"a due claim that waits": {&policy.ClaimSnapshot{}, false, policy.Delete, "snapshot when it is due, data PersistentVolume/pv-1",
			[]explain.Block{{Reason: "SnapshotFailed", Message: "policy p: " + waits, Remedy: "the VolumeSnapshot of the claim is ready to use"}}},
		"a claim that is not due": {&policy.ClaimSnapshot{}, false, policy.Wait, "snapshot when it is due, data PersistentVolume/pv-1", nil},
		"a claim without a mark": {&policy.ClaimSnapshot{}, true, policy.Wait, "snapshot when it is due, data PersistentVolume/pv-1",
			[]explain.Block{{Reason: "Unmarked", Message: "the object is not marked eligible for p/r yet", Remedy: "Sunset marks it eligible for p/r"}}},
		"a rule without snapshots": {nil, false, policy.Delete, "data PersistentVolume/pv-1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := policy.Subject{Namespace: "shop", Name: "data", UID: "u", Created: at.Add(-48 * time.Hour)}
			r := &policy.Rule{ID: rule, Kind: policy.ClaimKind, Mode: v1alpha1.Enforce, TTL: time.Hour, Snapshot: test.snapshot}
			start := at.Add(-24 * time.Hour)
			page := explain.New(explain.Input{
				At: at, Subject: s, Verdict: policy.Verdict{Action: test.action, Reason: policy.Expired, Due: at, Rule: rule},
				Object:      fixture.Decode(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: u}, spec: {volumeName: pv-1}}`),
				Evaluations: []policy.Evaluation{{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: start, Estimated: test.estimated}, Known: true}},
				Status:      map[string]v1alpha1.RetentionPolicyStatus{"p": {Conditions: []metav1.Condition{{Type: v1alpha1.ConditionDelayed, Status: "True", Reason: "SnapshotFailed", Message: waits}}}},
			})
			var settings []string
			for _, setting := range page.Rules[0].Settings {
				if setting.Name != "ttl" {
					settings = append(settings, setting.Name+" "+setting.Value)
				}
			}
			expect.Equal(t, "settings", test.settings, strings.Join(settings, ", "))
			expect.Equal(t, "blocks", test.blocks, page.Blocks, cmpopts.EquateEmpty())
		})
	}
}
