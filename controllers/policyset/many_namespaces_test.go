// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"fmt"
	"testing"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// runningInMany returns a running reconciler with a policy that newly applies in n namespaces.
func runningInMany(t *testing.T, n int) *harness {
	t.Helper()
	l := running(t)
	for i := range n {
		l.namespace(fmt.Sprintf("many-%04d", i), nil)
	}
	l.refresh()
	expect.Equal(t, "waiting before the change", free, l.waiting("team-a"))
	for i := range n {
		l.namespace(fmt.Sprintf("many-%04d", i), ci)
	}
	l.refresh()
	return l
}

// TestPolicyWaitsAsAWholeIfTooManyNamespacesChange: a status and an approval cannot list all of the namespaces.
func TestPolicyWaitsAsAWholeIfTooManyNamespacesChange(t *testing.T) {
	l := runningInMany(t, v1alpha1.MaxPendingNamespaces)
	expect.Equal(t, "namespaces of the gate", v1alpha1.MaxPendingNamespaces, len(l.named("p").Gate.Namespaces))
	expect.Equal(t, "waiting in another namespace", free, l.waiting("team-a"))
	for name, open := range map[string]func(*harness){
		"until it is counted":  func(l *harness) { l.counted("p") },
		"until it is approved": func(l *harness) { l.approved(l.named("p").Gate.Hash) },
	} {
		t.Run(name, func(t *testing.T) {
			l := runningInMany(t, v1alpha1.MaxPendingNamespaces+1)
			gate := l.named("p").Gate
			expect.Equal(t, "namespaces of the gate", 0, len(gate.Namespaces))
			expect.Equal(t, "the snapshot before is known", true, gate.Before != nil)
			expect.Equal(t, "waiting", waits, l.waiting("many-0000"))
			expect.Equal(t, "waiting in another namespace", waits, l.waiting("team-a"))
			expect.Equal(t, "objects that it deleted before", 0, old(30).count(l, "p").Week)
			open(l)
			expect.Equal(t, "waiting afterwards", free, l.waiting("many-0000"))
			expect.Equal(t, "waiting in another namespace afterwards", free, l.waiting("team-a"))
		})
	}
}

// TestManyNamespacesAreCountedWithTheOthers: what the whole policy waits for is counted in each namespace that has changed.
func TestManyNamespacesAreCountedWithTheOthers(t *testing.T) {
	l := running(t)
	l.hold("team-a", "true")
	for i := range v1alpha1.MaxPendingNamespaces {
		l.namespace(fmt.Sprintf("many-%04d", i), nil)
	}
	l.refresh()
	l.hold("team-a", "")
	for i := range v1alpha1.MaxPendingNamespaces {
		l.namespace(fmt.Sprintf("many-%04d", i), ci)
	}
	l.refresh()
	expect.Equal(t, "objects that the change deletes", 30, old(30).count(l, "p").Week)
}
