package policyset_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestAWithdrawnApprovalStopsTheNextCheck, before the cache shows that it is gone, and while the cache still has it.
func TestAWithdrawnApprovalStopsTheNextCheck(t *testing.T) {
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

func TestAnApprovalExpires(t *testing.T) {
	for name, look := range map[string]func(l *harness){
		"at a check":         func(l *harness) { l.allowed("team-a") },
		"without a deletion": func(l *harness) { l.reconcile() },
	} {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			l.approveWith("p", map[string]any{"hash": l.named("p").ApprovalHash(), "expirationTime": now.Add(time.Hour).Format(time.RFC3339)})
			l.sync()
			if after := l.reconcile().RequeueAfter; after != time.Hour {
				t.Errorf("the next look is after %s, want an hour", after)
			}
			expect.Equal(t, "waiting", free, l.waiting("team-a"))
			l.later(time.Hour - time.Second)
			look(l)
			expect.Equal(t, "waiting just before", free, l.waiting("team-a"))
			l.later(time.Second)
			look(l)
			expect.Equal(t, "waiting afterwards", waits, l.waiting("team-a"))
			l.later(time.Hour)
			expect.Equal(t, "the next look", time.Duration(0), l.reconcile().RequeueAfter)
		})
	}
}

// TestAnApprovalIsForOnePolicyOfItsNamespace: users of another namespace cannot approve.
func TestAnApprovalIsForOnePolicyOfItsNamespace(t *testing.T) {
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

func TestApprovalsAreReadOnlyIfThereAreAny(t *testing.T) {
	l := oneEnforced(t)
	l.allowed("team-a")
	expect.Equal(t, "reads without approvals", 0, l.asked()["clusterretentionapprovals"])
	l.approved("0123456789abcdef")
	l.later(2 * time.Second)
	l.allowed("team-a")
	asked := l.asked()
	expect.Equal(t, "reads of the approvals of ClusterRetentionPolicies", 1, asked["clusterretentionapprovals"])
	expect.Equal(t, "reads of those of RetentionPolicies", 0, asked["retentionapprovals"])
}
