package policies_test

import "testing"

// TestTheCountOfAnotherFormEndsNoComparison: what changed while no leader ran is still to be counted when the policy has the form again that
// the leader before counted.
func TestTheCountOfAnotherFormEndsNoComparison(t *testing.T) {
	l := heldWith(t, spec("DryRun", "2h"))
	l.become(spec("Enforce", "2h"))
	other := l.named("p").ApprovalHash()
	l.approve("p", other)
	l.become(spec("Enforce", "1h"))
	l.counted("p")
	status := old(3).enforced(l, "p")
	status.Previews[0].Time = status.Enforced.Time
	l.report("p", status)
	l.hold("team-a", "")
	l = l.restart()
	expect(t, "waiting", waits, l.waiting("team-a"))
	l.become(spec("DryRun", "2h"))
	l.counted("p")
	l.become(spec("Enforce", "1h"))
	expect(t, "waiting in the form before", waits, l.waiting("team-a"))
}
