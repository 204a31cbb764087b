// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestWithdrawnApprovalStopsTheNextCheck, before the cache shows that it is gone, and while the cache still has it.
func TestWithdrawnApprovalStopsTheNextCheck(t *testing.T) {
	l := oneEnforced(t)
	l.approved(l.named("p").ApprovalHash())
	l.allowed("team-a")
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
	l.withdraw()
	l.later(2 * time.Second)
	l.allowed("team-a")
	expect.Equal(t, "waiting once it is withdrawn", waits, l.waiting("team-a"))
	l.reconcile()
	expect.Equal(t, "waiting after a read of the old cache", waits, l.waiting("team-a"))
}

// TestWithdrawnApprovalOfACountedVersion: the version waits until it is counted again.
func TestWithdrawnApprovalOfACountedVersion(t *testing.T) {
	for name, reach := range map[string]func(t *testing.T) *harness{
		"of the version": oneEnforced,
		"of namespaces": func(t *testing.T) *harness {
			l := heldWith(t, spec("Enforce", "1h"))
			l.unhold()
			return l
		},
		"of a dry run that could delete more": func(t *testing.T) *harness {
			l := heldWith(t, spec("DryRun", "1h"))
			l.unhold()
			l.become(spec("Enforce", "1h"))
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := reach(t)
			shown := l.named("p").Gate
			since := metav1.NewMicroTime(shown.Namespaces.Since())
			status := v1alpha1.RetentionPolicyStatus{PendingApproval: &v1alpha1.PendingApproval{Hash: shown.Hash, Namespaces: shown.Namespaces.Names()}}
			if shown.Namespaces != nil {
				status.PendingApproval.SinceTime = &since
			}
			l.report("p", status)
			l.approved(shown.Hash)
			if l.waiting("team-a"); l.named("p").Gate != nil {
				t.Fatalf("gate %v, want none", l.named("p").Gate)
			}
			l.counted("p")
			p := l.named("p")
			l.report("p", v1alpha1.RetentionPolicyStatus{
				ObservedGeneration: p.Generation, Previews: []v1alpha1.Preview{{Hash: p.Hash, ObservedTime: metav1.Time{Time: now}}},
				Enforced: &v1alpha1.EnforcedCount{Hash: p.Hash, ObservedTime: metav1.Time{Time: now}, Approvals: l.named("p").Approvals},
			})
			other := l.restart()
			other.counted("p")
			expect.Equal(t, "waiting under another leader", free, other.waiting("team-a"))
			l.withdraw()
			if gate := l.restart().named("p").Gate; gate == nil || gate.Recount != nil || gate.Previewed || gate.Namespaces != nil {
				t.Errorf("the gate of another leader does not count everything: %+v", gate)
			}
			l.later(2 * time.Second)
			l.allowed("team-a")
			expect.Equal(t, "waiting once it is withdrawn", waits, l.waiting("team-a"))
			if gate := l.named("p").Gate; gate.Before != nil || gate.Previewed || gate.Namespaces != nil {
				t.Errorf("the gate does not count everything: %+v", gate)
			}
			l.counted("p")
			expect.Equal(t, "waiting once it is counted again", free, l.waiting("team-a"))
		})
	}
}

// TestPolicyNamesTheApprovalsByWhichItDeletes, and none of the others, however many they are.
func TestPolicyNamesTheApprovalsByWhichItDeletes(t *testing.T) {
	l := oneEnforced(t)
	for i := range 40 {
		l.approve("p", fmt.Sprintf("%032d", i))
	}
	l.readLive()
	expect.Equal(t, "approvals before the one that counts", []string(nil), l.named("p").Approvals)
	hash := l.named("p").ApprovalHash()
	l.approved(hash)
	expect.Equal(t, "approvals", []string{hash}, l.named("p").Approvals)
	l.become(spec("Enforce", "2h"))
	expect.Equal(t, "approvals of another version", []string(nil), l.named("p").Approvals)
}

// TestWithdrawnApprovalOfAnotherVersionChangesNothing.
func TestWithdrawnApprovalOfAnotherVersionChangesNothing(t *testing.T) {
	l := oneEnforced(t)
	l.approved(l.named("p").ApprovalHash())
	l.counted("p")
	l.become(spec("Enforce", "2h"))
	l.counted("p")
	l.withdraw()
	l.later(2 * time.Second)
	l.allowed("team-a")
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

// TestApprovalBeingDeletedDoesNotCount, also while the cache does not show that, and afterwards Sunset does not read again and again.
func TestApprovalBeingDeletedDoesNotCount(t *testing.T) {
	l := oneEnforced(t)
	l.approved(l.named("p").ApprovalHash())
	l.set(func() {
		for _, a := range l.live.approvals {
			a.SetDeletionTimestamp(&metav1.Time{Time: now})
			a.SetResourceVersion(l.next())
		}
	})
	l.later(2 * time.Second)
	l.allowed("team-a")
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.refresh()
	l.later(time.Minute)
	expect.Equal(t, "the next read", time.Duration(0), l.reconcile().RequeueAfter)
}

// TestListThatLacksAnApprovalWithdrawsNone: the approval counts until the API server responds that it does not exist.
func TestListThatLacksAnApprovalWithdrawsNone(t *testing.T) {
	l := oneEnforced(t)
	l.approved(l.named("p").ApprovalHash())
	l.counted("p")
	l.later(2 * time.Second)
	l.said = emptied("/clusterretentionapprovals")
	if _, err := l.check("team-a"); err == nil {
		t.Error("allowed by an incomplete list")
	}
	l.said = nil
	l.later(2 * time.Second)
	l.allowed("team-a")
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

func TestApprovalExpires(t *testing.T) {
	for name, look := range map[string]func(l *harness){
		"at a check":         func(l *harness) { l.allowed("team-a") },
		"without a deletion": func(l *harness) { l.reconcile() },
	} {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			l.approveWith("p", map[string]any{"hash": l.named("p").ApprovalHash(), "expirationTime": now.Add(time.Hour).Format(time.RFC3339)})
			l.refresh()
			if after := l.reconcile().RequeueAfter; after != time.Hour {
				t.Errorf("the next look is after %s, want an hour", after)
			}
			expect.Equal(t, "waiting", free, l.waiting("team-a"))
			l.later(time.Hour - time.Second)
			look(l)
			expect.Equal(t, "waiting just before", free, l.waiting("team-a"))
			l.later(2 * time.Second)
			look(l)
			expect.Equal(t, "waiting afterwards", waits, l.waiting("team-a"))
			l.later(time.Hour)
			expect.Equal(t, "the next look", time.Duration(0), l.reconcile().RequeueAfter)
		})
	}
}

// TestApprovalIsForOnePolicyOfItsNamespace: users of another namespace cannot approve.
func TestApprovalIsForOnePolicyOfItsNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		change func(a *unstructured.Unstructured)
		want   []string
	}{
		"of the namespace": {func(*unstructured.Unstructured) {}, free},
		"of another one":   {func(a *unstructured.Unstructured) { a.SetNamespace("team-b") }, []string{"team-a/own/jobs"}},
		"of the cluster": {func(a *unstructured.Unstructured) {
			a.SetNamespace("")
			a.SetKind("ClusterRetentionApproval")
		}, []string{"team-a/own/jobs"}},
		"that is being deleted": {func(a *unstructured.Unstructured) { a.SetDeletionTimestamp(&metav1.Time{Time: now}) }, []string{"team-a/own/jobs"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := teamed(t, ownRules("Enforce", "5m"))
			l.counted("p")
			l.approve("team-a/own", l.named("team-a/own").ApprovalHash())
			for _, a := range l.live.approvals {
				test.change(a)
			}
			l.refresh()
			expect.Equal(t, "waiting", test.want, l.waiting("team-a"))
		})
	}
}

// TestDeletedApprovalDoesNotCountAgain: a cache that relists from a server that is behind has the approval again.
func TestDeletedApprovalDoesNotCountAgain(t *testing.T) {
	l := oneEnforced(t)
	l.approved(l.named("p").ApprovalHash())
	before := l.cache.clone()
	l.withdraw()
	l.later(2 * time.Second)
	l.allowed("team-a")
	l.refresh()
	expect.Equal(t, "waiting once it is withdrawn", waits, l.waiting("team-a"))
	l.set(func() { l.cache = before })
	l.later(time.Minute)
	l.reconcile()
	expect.Equal(t, "waiting with the old cache", waits, l.waiting("team-a"))
}

// TestApprovalThatACheckSeesFirstCounts, once the cache has it: the list of a check has no content.
func TestApprovalThatACheckSeesFirstCounts(t *testing.T) {
	l := oneEnforced(t)
	l.approve("p", l.named("p").ApprovalHash())
	l.later(2 * time.Second)
	l.allowed("team-a")
	expect.Equal(t, "waiting before the cache has it", waits, l.waiting("team-a"))
	l.refresh()
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

// TestApprovalIsSeenWithTheStatusThatItApproves: the cache has an older version of the policy than the user.
func TestApprovalIsSeenWithTheStatusThatItApproves(t *testing.T) {
	l := oneEnforced(t)
	l.edit("p", func(p *unstructured.Unstructured) { p.SetLabels(map[string]string{"a": "b"}) })
	l.allowed("team-a")
	l.approve("p", l.named("p").ApprovalHash())
	l.set(func() { l.cache.approvals = l.live.clone().approvals })
	l.reconcile()
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

func TestApprovalWithAnUnknownFieldDoesNotCount(t *testing.T) {
	l := oneEnforced(t)
	l.approveWith("p", map[string]any{"hash": l.named("p").ApprovalHash(), "expirationtime": now.Add(time.Hour).Format(time.RFC3339)})
	l.refresh()
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
}

func TestApprovalNamesItsPolicy(t *testing.T) {
	l := oneEnforced(t)
	l.approveWith("p", map[string]any{"hash": l.named("p").ApprovalHash(), "policy": map[string]any{"name": "q", "uid": string(l.named("p").UID)}})
	l.refresh()
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
}
