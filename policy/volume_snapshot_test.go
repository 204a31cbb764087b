// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func snapshotting(s *policy.ClaimSnapshot) func(*policy.Evaluation) {
	return func(e *policy.Evaluation) { e.Rule.Kind, e.Rule.Snapshot = policy.ClaimKind, s }
}

// observed is the time since which a process has seen that a claim is due.
var observed = now.Add(-time.Minute)

// claimIntent is the intent of a deletion with a snapshot.
func claimIntent(t *testing.T, s *policy.ClaimSnapshot) policy.Intent {
	return permitOf(t, version, snapshotting(s)).WithObserved(observed).Intent()
}

// ready is a VolumeSnapshot for an intent, as the snapshot controller completes it.
func ready(i policy.Intent) *policy.VolumeSnapshot {
	s := policy.NewVolumeSnapshot(i, `{"metadata": {"uid": "u"}}`, now)
	s.Status = policy.VolumeSnapshotStatus{Content: "content", ReadyToUse: true, CreationTime: &metav1.Time{Time: now}}
	return s
}

func TestVolumeSnapshotReceipt(t *testing.T) {
	i := claimIntent(t, &policy.ClaimSnapshot{ClassName: "fast", Retain: time.Hour})
	for name, test := range map[string]struct {
		change func(*policy.VolumeSnapshot)
		err    error
		says   string
	}{
		"ready":                 {func(*policy.VolumeSnapshot) {}, nil, ""},
		"taken when it was due": {func(s *policy.VolumeSnapshot) { s.Status.CreationTime.Time = observed.Truncate(time.Second) }, nil, ""},
		"taken before that":     {func(s *policy.VolumeSnapshot) { s.Status.CreationTime.Time = observed.Add(-6 * time.Second) }, policy.ErrSnapshotFailed, "saw that the claim is due"},
		"of another class":      {func(s *policy.VolumeSnapshot) { s.Spec.ClassName = "slow" }, policy.ErrSnapshotFailed, "VolumeSnapshotClass is not fast"},
		"without a manifest":    {func(s *policy.VolumeSnapshot) { delete(s.Annotations, v1alpha1.SnapshotClaimAnnotation) }, policy.ErrSnapshotFailed, "which a restore needs"},
		"that may go too early": {func(s *policy.VolumeSnapshot) {
			s.Annotations[v1alpha1.DeleteAfterAnnotation] = now.Add(time.Minute).Format(time.RFC3339)
		}, policy.ErrSnapshotFailed, "before the end of snapshot.retain"},
		"without the time":     {func(s *policy.VolumeSnapshot) { s.Status.CreationTime = nil }, policy.ErrSnapshotPending, ""},
		"not ready":            {func(s *policy.VolumeSnapshot) { s.Status.ReadyToUse = false }, policy.ErrSnapshotPending, ""},
		"not bound":            {func(s *policy.VolumeSnapshot) { s.Status.Content = "" }, policy.ErrSnapshotPending, ""},
		"without a status":     {func(s *policy.VolumeSnapshot) { s.Status = policy.VolumeSnapshotStatus{} }, policy.ErrSnapshotPending, ""},
		"being deleted":        {func(s *policy.VolumeSnapshot) { s.DeletionTimestamp = &metav1.Time{Time: now} }, policy.ErrSnapshotFailed, "being deleted"},
		"of another claim":     {func(s *policy.VolumeSnapshot) { s.Spec.Source.ClaimName = "other" }, policy.ErrSnapshotFailed, "not a snapshot of this"},
		"of an earlier claim":  {func(s *policy.VolumeSnapshot) { s.Labels[v1alpha1.ClaimUIDLabel] = "earlier" }, policy.ErrSnapshotFailed, "not a snapshot of this"},
		"in another namespace": {func(s *policy.VolumeSnapshot) { s.Namespace = "other" }, policy.ErrSnapshotFailed, "not a snapshot of this"},
		"of another name":      {func(s *policy.VolumeSnapshot) { s.Name = "other" }, policy.ErrSnapshotFailed, "not a snapshot of this"},
		"that a rule may delete now": {func(s *policy.VolumeSnapshot) {
			s.Annotations[v1alpha1.DeleteAfterAnnotation] = now.Add(2 * time.Hour).Format(time.RFC3339)
		}, policy.ErrSnapshotFailed, "has passed"},
		"with an unreadable time":     {func(s *policy.VolumeSnapshot) { s.Annotations[v1alpha1.DeleteAfterAnnotation] = "tomorrow" }, policy.ErrSnapshotFailed, "cannot be read"},
		"that nothing deletes":        {func(s *policy.VolumeSnapshot) { delete(s.Annotations, v1alpha1.DeleteAfterAnnotation) }, nil, ""},
		"with an error of the driver": {func(s *policy.VolumeSnapshot) { failWith(s, "no space") }, policy.ErrSnapshotFailed, "no space; check the VolumeSnapshotClass"},
		"with an error before it began": {func(s *policy.VolumeSnapshot) {
			s.Status = policy.VolumeSnapshotStatus{}
			failWith(s, "no default class")
		}, policy.ErrSnapshotFailed, "no default class"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(i)
			test.change(s)
			at := now
			if strings.Contains(name, "may delete now") {
				at = now.Add(2 * time.Hour)
			}
			r, err := s.Receipt(i, at)
			expect.Equal(t, "covers", test.err == nil, r.Covers(i))
			if !errors.Is(err, test.err) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Error(err)
			}
		})
	}
}

func failWith(s *policy.VolumeSnapshot, message string) {
	s.Status.Error = &struct {
		Message string `json:"message,omitempty"`
	}{message}
}

// TestClearNeedsTheSnapshot: a rule with a snapshot deletes nothing without the receipt of its own snapshot.
func TestClearNeedsTheSnapshot(t *testing.T) {
	w := permitOf(t, version, snapshotting(&policy.ClaimSnapshot{})).WithObserved(observed)
	target, valid := policy.TargetOf(w.Rule().Kind, version), policy.SnapshotReceipt{Claim: version.UID, Name: w.Intent().SnapshotName(), Created: now}
	for name, test := range map[string]struct {
		change func(*policy.SnapshotReceipt)
		want   bool
	}{
		"its receipt":             {func(*policy.SnapshotReceipt) {}, true},
		"no receipt":              {func(r *policy.SnapshotReceipt) { *r = policy.SnapshotReceipt{} }, false},
		"of another claim":        {func(r *policy.SnapshotReceipt) { r.Claim = "v" }, false},
		"of an earlier period":    {func(r *policy.SnapshotReceipt) { r.Name = "sunset-u-earlier" }, false},
		"a clock a bit behind":    {func(r *policy.SnapshotReceipt) { r.Created = observed.Add(-5 * time.Second) }, true},
		"taken before it was due": {func(r *policy.SnapshotReceipt) { r.Created = observed.Add(-6 * time.Second) }, false},
		"without a time":          {func(r *policy.SnapshotReceipt) { r.Created = time.Time{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := valid
			test.change(&r)
			c, err := policy.Clear(w, target, policy.Receipt{}, r)
			if (err == nil) != test.want || c.Permits(target) != test.want || test.want && c.Snapshot() != r {
				t.Errorf("%v, permits it: %v", err, c.Permits(target))
			}
		})
	}
	free := permitOf(t, version)
	c, err := policy.Clear(free, policy.TargetOf(free.Rule().Kind, version), policy.Receipt{}, valid)
	expect.NoError(t, err)
	expect.Equal(t, "receipt for a rule without a snapshot", policy.SnapshotReceipt{}, c.Snapshot())
}

// TestSnapshotName: the name has the UID of the claim and since when it was seen to be due, and nothing else changes it.
func TestSnapshotName(t *testing.T) {
	base := claimIntent(t, &policy.ClaimSnapshot{})
	later := version
	later.ResourceVersion = "8"
	expect.Equal(t, "another version", base.SnapshotName(), permitOf(t, later, snapshotting(&policy.ClaimSnapshot{ClassName: "c"})).WithObserved(observed).Intent().SnapshotName())
	later.UID = "v"
	other, again := permitOf(t, later, snapshotting(&policy.ClaimSnapshot{})).WithObserved(observed).Intent(), base
	again.Observed = observed.Add(time.Millisecond)
	for _, name := range []string{other.SnapshotName(), again.SnapshotName(), permitOf(t, version).Intent().SnapshotName(), policy.Intent{}.SnapshotName()} {
		if name == base.SnapshotName() {
			t.Errorf("both are named %s", name)
		}
	}
}

func TestNewVolumeSnapshot(t *testing.T) {
	i := permitOf(t, version, snapshotting(&policy.ClaimSnapshot{ClassName: "fast", Retain: 24 * time.Hour})).Intent()
	data, err := json.Marshal(policy.NewVolumeSnapshot(i, `{"kind":"PersistentVolumeClaim"}`, now))
	expect.NoError(t, err)
	var got map[string]any
	expect.NoError(t, json.Unmarshal(data, &got))
	metadata := got["metadata"].(map[string]any)
	expect.Equal(t, "labels", any(map[string]any{"sunset-k8s.io/claim-uid": "u"}), metadata["labels"])
	expect.Equal(t, "annotations", any(map[string]any{
		"sunset-k8s.io/claim": `{"kind":"PersistentVolumeClaim"}`, "sunset-k8s.io/policy": "p", "sunset-k8s.io/rule": "a",
		"sunset-k8s.io/delete-after": now.Add(24 * time.Hour).UTC().Format(time.RFC3339),
	}), metadata["annotations"])
	expect.Equal(t, "spec", any(map[string]any{"source": map[string]any{"persistentVolumeClaimName": "job"}, "volumeSnapshotClassName": "fast"}), got["spec"])
	expect.Equal(t, "status", nil, got["status"])
	kept := policy.NewVolumeSnapshot(permitOf(t, version, snapshotting(&policy.ClaimSnapshot{})).Intent(), "", now)
	if _, ok := kept.Annotations[v1alpha1.DeleteAfterAnnotation]; ok {
		t.Error("a snapshot without retain has a time for its deletion")
	}
}

func TestClaimManifest(t *testing.T) {
	var claim map[string]any
	expect.NoError(t, json.Unmarshal([]byte(`{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "u",
		"resourceVersion": "7", "finalizers": ["kubernetes.io/pvc-protection"], "labels": {"app": "db"}, "annotations": {"team": "x",
		"pv.kubernetes.io/bind-completed": "yes", "sunset-k8s.io/eligible-since": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
		"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast", "volumeMode": "Block",
		"volumeName": "pv-1", "dataSource": {"name": "old"}}, "status": {"phase": "Bound"}}`), &claim))
	got, err := json.Marshal(policy.ClaimManifest(claim))
	expect.NoError(t, err)
	expect.Equal(t, "manifest", `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{"team":"x"},"labels":{"app":"db"},"name":"data",`+
		`"namespace":"shop","uid":"u"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"fast","volumeMode":"Block"}}`, string(got))
}

func TestLoadSnapshot(t *testing.T) {
	const claims = "target: {apiVersion: v1, kind: PersistentVolumeClaim}\n  ttl: 1d\n"
	for name, test := range map[string]struct {
		rule    string
		want    *policy.ClaimSnapshot
		problem string // path and message
	}{
		"the default class":    {claims + "  snapshot: {}", &policy.ClaimSnapshot{}, ""},
		"a class and retain":   {claims + "  snapshot: {className: fast, retain: 90d}", &policy.ClaimSnapshot{ClassName: "fast", Retain: 90 * 24 * time.Hour}, ""},
		"retain of zero":       {claims + "  snapshot: {retain: 0s}", &policy.ClaimSnapshot{}, ""},
		"retain that is short": {claims + "  snapshot: {retain: 59m}", nil, "spec.rules[0].snapshot.retain: 59m is too short"},
		"a startTime":          {claims + "  startTime: object.metadata.creationTimestamp\n  snapshot: {}", nil, "spec.rules[0].snapshot: the rule has a startTime"},
		"retain with a typo":   {claims + "  snapshot: {retain: 90x}", nil, "spec.rules[0].snapshot.retain: "},
		"class with a space":   {claims + "  snapshot: {className: a b}", nil, "spec.rules[0].snapshot.className: "},
		"another kind":         {"target: {apiVersion: batch/v1, kind: Job}\n  ttl: 1d\n  snapshot: {}", nil, "spec.rules[0].snapshot: only PersistentVolumeClaims have snapshots"},
		"the owner":            {claims + "  delete: {target: Owner}\n  snapshot: {}", nil, "spec.rules[0].snapshot: the rule deletes the owner"},
		"a field with a typo":  {claims + "  snapshot: {class: fast}", nil, "spec.rules[0].snapshot.class: "},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := yaml.YAMLToJSON([]byte("apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: a\n    " +
				strings.ReplaceAll(test.rule, "\n", "\n  ")))
			expect.NoError(t, err)
			p := parse(t, string(data)).Load(policy.Protection{}.Allow("PersistentVolumeClaim"))
			var problems []string
			for _, problem := range p.Problems {
				problems = append(problems, problem.Path+": "+problem.Message)
			}
			if test.problem == "" {
				expect.Equal(t, "problems", nil, problems)
				expect.Equal(t, "snapshot", test.want, p.Rules[0].Snapshot)
			} else if len(problems) != 1 || !strings.HasPrefix(problems[0], test.problem) || !p.Rules[0].Invalid() {
				t.Errorf("problems %q", problems)
			}
		})
	}
}
