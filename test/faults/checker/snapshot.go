// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// snapshotKind is the kind of snapshots of claims.
var snapshotKind = schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}

// createsSnapshot reports whether a request creates a VolumeSnapshot.
func createsSnapshot(r history.Request) bool {
	return r.Verb == "create" && r.Group == snapshotKind.Group && r.Resource == "volumesnapshots"
}

// snapshotCreation checks that an enforced rule that makes snapshots allows a VolumeSnapshot.
func (j *checker) snapshotCreation(r history.Request) {
	if brokeOff(r) {
		return
	}
	made := &history.State{}
	if err := made.UnmarshalJSON(r.Body); err != nil {
		j.notChecked("%s: %v", r, err)
		return
	}
	w := j.windowOf(r, j.before(j.Sent(r)))
	claim := j.Log.At(j.Log.KeyOf(claimOf(made)), w.to)
	if claim == nil {
		claim = j.Log.At(j.Log.KeyOf(claimOf(made)), w.from) // it was deleted a moment ago
	}
	if claim == nil || claim.GetName() != sourceOf(made) || claim.GetNamespace() != r.Namespace {
		j.violated(Restrained, r, nil, 0, "the VolumeSnapshot is not of an existing claim")
		return
	}
	for _, o := range j.orders(r.Namespace, w) {
		for _, p := range slices.Concat(o.cluster, o.teams) {
			if p.enforced() && j.applies(p, claim, o) && slices.ContainsFunc(p.rules, func(r *rule) bool { return r.Snapshot != nil && r.invalid == nil }) {
				return
			}
		}
	}
	j.violated(Restrained, r, claim, 0, fmt.Sprintf("no rule that was enforced between revisions %d and %d makes snapshots", w.from, w.to))
}

func claimOf(s *history.State) types.UID { return types.UID(s.GetLabels()[v1alpha1.ClaimUIDLabel]) }

func sourceOf(s *history.State) any {
	return mapIn(mapIn(s.Object, "spec"), "source")["persistentVolumeClaimName"]
}

// snapshotted checks that a DELETE of a claim was sent after a VolumeSnapshot of it was ready to use, which the same replica had created
// and which was taken after the claim was due and no longer used. Nothing is required if a rule that makes no snapshots may have decided.
func (j *checker) snapshotted(d *removal) {
	if slices.ContainsFunc(d.rules, func(r *rule) bool { return r.Snapshot == nil }) {
		return
	}
	why := "it has no VolumeSnapshot"
	from, to := j.read(d.sent), j.before(d.sent)
	for _, key := range j.Log.Keys(snapshotKind) {
		states := []*history.State{j.Log.At(key, from)}
		for _, c := range j.Log.Of(key) {
			if c.Revision > from && c.Revision <= to {
				states = append(states, c.After)
			}
		}
		for _, s := range states {
			if s == nil || claimOf(s) != d.change.Before.GetUID() || s.GetNamespace() != d.change.Before.GetNamespace() {
				continue
			}
			if why = j.unusable(s, d, to); why == "" {
				return
			}
		}
	}
	j.violated(Snapshotted, d.request, d.change.Before, d.change.Revision, why)
}

// unusable says why a VolumeSnapshot does not permit a DELETE; empty if it does.
func (j *checker) unusable(s *history.State, d *removal, to int64) string {
	claim, status := d.change.Before, mapIn(s.Object, "status")
	text, _ := status["creationTime"].(string)
	taken, err := time.Parse(time.RFC3339, text)
	says := func(format string, about ...any) string {
		return fmt.Sprintf("VolumeSnapshot %s: ", s.GetName()) + fmt.Sprintf(format, about...)
	}
	switch {
	case sourceOf(s) != claim.GetName():
		return says("it is of another claim")
	case isTerminating(s):
		return says("it is being deleted")
	case status["readyToUse"] != true || status["error"] != nil:
		return says("it is not ready to use")
	case err != nil:
		return says("creationTime: %v", err)
	}
	if by := j.creatorOf(s); by != d.request.User {
		return says("%q created it, which may have missed a use", by)
	}
	taken = taken.Add(time.Second) // creationTime has whole seconds
	used, err := j.lastReferred(claim, to)
	switch {
	case err != nil:
		return says("uses of the claim: %v", err)
	case used.After(taken):
		return says("it was taken before %s, when the claim was still used", stamp(used))
	}
	for _, r := range d.rules {
		f := j.facts(r, claim, to)
		due := f.start.Add(r.lifetime(claim, f.ttl, nil)) // overrides only make it later
		if taken.After(due) {
			return ""
		}
	}
	return says("it was taken before the claim was due")
}

// creatorOf returns the user that created a VolumeSnapshot; empty if that is unknown.
func (j *checker) creatorOf(s *history.State) string {
	for _, c := range j.Log.Of(s.Key) {
		if c.After != nil && c.After.GetUID() == s.GetUID() {
			return j.writers[c.Revision]
		}
	}
	return ""
}
