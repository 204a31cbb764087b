// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// snapshot writes a VolumeSnapshot of a claim as a user creates it, and then its status.
func (p *past) snapshot(claim *history.State, user, status string) *history.State {
	p.Helper()
	text := func(status string) string {
		return fmt.Sprintf(`{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {namespace: a, name: s, labels: {sunset-k8s.io/claim-uid: %s}},
  spec: {source: {persistentVolumeClaimName: %s}}%s}`, claim.GetUID(), claim.GetName(), status)
	}
	p.store(text(""), user)
	last := &p.requests[len(p.requests)-1]
	last.Verb, last.Body = "create", last.Answer
	return p.store(text(", status: {" + status + "}"))
}

func TestSnapshots(t *testing.T) {
	const (
		claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: a, name: data%s}}`
		mark  = `, annotations: {sunset-k8s.io/eligible-since: '{"r":"2026-03-01T12:01:01Z"}'}`
		ready = `readyToUse: true, creationTime: "2026-03-01T12:02:00Z"`
	)
	// after deletes a claim that is due since 12:01:02, at 12:02 and after what happens.
	after := func(ruled string, happens func(p *past, claim *history.State)) func(*past) {
		return func(p *past) {
			p.evidence.AllowKinds = []schema.GroupKind{{Kind: "PersistentVolumeClaim"}}
			p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: PersistentVolumeClaim}, eligible: references.count == 0, marked, ttl: 1s"+ruled)
			p.store(fmt.Sprintf(claim, ""))
			p.wait(time.Minute)
			x := p.store(fmt.Sprintf(claim, mark), us)
			p.wait(time.Minute)
			happens(p, x)
			p.wait(5 * time.Second)
			p.sunset(x)
		}
	}
	made := func(user, status string) func(*past, *history.State) {
		return func(p *past, claim *history.State) { p.snapshot(claim, user, status) }
	}
	const snapshots = ", snapshot: {}"
	without := broken(checker.Snapshotted)
	tell(t, map[string]example{
		"a snapshot that is ready":       {tell: after(snapshots, made(us, ready))},
		"no snapshot":                    {tell: after(snapshots, func(*past, *history.State) {}), want: without},
		"a rule that makes no snapshots": {tell: after("", func(*past, *history.State) {})},
		"one that is not ready":          {tell: after(snapshots, made(us, `readyToUse: false, creationTime: "2026-03-01T12:02:00Z"`)), want: without},
		"one with an error":              {tell: after(snapshots, made(us, ready+", error: {message: no space}")), want: without},
		"one without a time":             {tell: after(snapshots, made(us, "readyToUse: true")), want: without},
		"one that was taken before":      {tell: after(snapshots, made(us, `readyToUse: true, creationTime: "2026-03-01T12:01:00Z"`)), want: without},
		"one made while others delete a list": {tell: after(snapshots, func(p *past, claim *history.State) {
			n := len(p.requests)
			p.snapshot(claim, us, ready)
			list := p.requests[n] // its answer has the same revision
			list.Verb, list.User, list.Resource, list.Received = "deletecollection", others, "configmaps", list.Received.Add(-time.Millisecond)
			p.requests = slices.Insert(p.requests, n, list)
		})},
		"one of another user":             {tell: after(snapshots, made(others, ready)), want: without},
		"one that was deleted in between": {tell: after(snapshots, func(p *past, claim *history.State) { p.remove(p.snapshot(claim, us, ready)) }), want: without},
		"one from before the claim is used": {tell: after(snapshots, func(p *past, claim *history.State) {
			p.snapshot(claim, us, ready)
			p.wait(3 * time.Second)
			p.remove(p.store(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: uses}, spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}`))
			p.wait(time.Minute)
		}), want: without},
		"a snapshot by a rule that makes none": {tell: after("", made(us, ready)), want: broken(checker.Restrained)},
		"a snapshot of a claim that never existed": {tell: after("", func(p *past, claim *history.State) {
			other := claim.DeepCopy()
			other.SetUID("other")
			p.snapshot(&history.State{Unstructured: *other}, us, ready)
		}), want: broken(checker.Restrained)},
	})
}
