// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"errors"
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

// TestPageExplainsWhatTheReclaimPolicyDoes: with a cluster, the page says whether the data of the volume is deleted, or why it does not
// know.
func TestPageExplainsWhatTheReclaimPolicyDoes(t *testing.T) {
	const either = "if its persistentVolumeReclaimPolicy is Delete, the data of the volume is deleted with the claim; if it is Retain, the volume stays"
	volume := func(reclaim, claim string) func() (map[string]any, error) {
		return func() (map[string]any, error) {
			return fixture.Decode(t, `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-1}, spec: {persistentVolumeReclaimPolicy: `+reclaim+`, claimRef: {uid: `+claim+`}}}`), nil
		}
	}
	for name, test := range map[string]struct {
		find func() (map[string]any, error)
		want string
	}{
		"Delete":               {volume("Delete", "u"), "its persistentVolumeReclaimPolicy is Delete: the data of the volume is deleted with the claim"},
		"Recycle":              {volume("Recycle", "u"), "its persistentVolumeReclaimPolicy is Recycle: the data of the volume is deleted with the claim"},
		"Retain":               {volume("Retain", "u"), "its persistentVolumeReclaimPolicy is Retain: the volume and its data stay after the claim is deleted"},
		"an unknown policy":    {volume("Other", "u"), either},
		"bound to another":     {volume("Delete", "other"), "it is not bound to this claim, so it stays"},
		"reserved by name":     {volume("Delete", `""`), either},
		"a missing volume":     {func() (map[string]any, error) { return nil, nil }, "it does not exist, so the claim has no data"},
		"no permission":        {func() (map[string]any, error) { return nil, errors.New("forbidden") }, "cannot read it: forbidden; " + either},
		"files, not a cluster": {nil, either},
	} {
		t.Run(name, func(t *testing.T) {
			in := explain.Input{
				At: at, Subject: policy.Subject{Namespace: "shop", Name: "data", UID: "u"},
				Object:      fixture.Decode(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: u}, spec: {volumeName: pv-1}}`),
				Evaluations: []policy.Evaluation{{Rule: &policy.Rule{Kind: policy.ClaimKind, Mode: v1alpha1.Enforce}, Facts: policy.Facts{Selected: true, Eligible: true, Start: at}, Known: true}},
			}
			if test.find != nil {
				in.FindVolume = func(name string) (map[string]any, error) {
					expect.Equal(t, "volume", "pv-1", name)
					return test.find()
				}
			}
			settings := explain.New(in).Rules[0].Settings
			expect.Equal(t, "data", explain.Setting{Name: "data", Value: "PersistentVolume/pv-1", Note: test.want}, settings[len(settings)-1])
		})
	}
}

// TestPageExplainsTheStartOfAnUnusedClaim: the condition Unused counts if it has changed later than the mark.
func TestPageExplainsTheStartOfAnUnusedClaim(t *testing.T) {
	mark := at.Add(-24 * time.Hour)
	for name, test := range map[string]struct {
		facts policy.Facts
		want  explain.Setting
	}{
		"the mark":      {policy.Facts{Start: mark}, explain.Setting{Name: "start", Value: "2026-02-28T12:00:00Z", From: "annotation " + v1alpha1.EligibleSinceAnnotation}},
		"the condition": {policy.Facts{Start: at.Add(-time.Hour), EarlierMark: mark}, explain.Setting{Name: "start", Value: "2026-03-01T11:00:00Z", From: "condition Unused", Note: "the mark is from 2026-02-28T12:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.facts.Selected, test.facts.Eligible, test.facts.Marked = true, true, true
			page := explain.New(explain.Input{
				At: at, Subject: policy.Subject{Namespace: "shop", Name: "data", UID: "u"},
				Object:      fixture.Decode(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: u}}`),
				Evaluations: []policy.Evaluation{{Rule: &policy.Rule{Kind: policy.ClaimKind, Mode: v1alpha1.Enforce, Mark: "m"}, Facts: test.facts, Known: true}},
			})
			expect.Equal(t, "start", test.want, page.Rules[0].Settings[0])
		})
	}
}
