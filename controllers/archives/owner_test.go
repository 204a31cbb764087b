// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// member is a Pod of which a rule deletes the Job. It implements retention.Candidate.
type member struct {
	*harness
	intent policy.Intent
	job    policy.Target
	ready  int
}

func (m *member) Intent() (policy.Intent, bool) { return m.intent, true }

func (m *member) Ready() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready++
}

// members adds a Job and its Pods.
func (h *harness) members(r *policy.Rule, job string, names ...string) (all []*member) {
	r.Kind, r.Owner = pods, true
	owner := h.server.put(jobs, job, "")
	for _, name := range names {
		pod := h.server.own(h.server.put(r.Kind, name, ""), owner).target()
		all = append(all, &member{harness: h, job: owner.target(), intent: policy.Intent{
			Subject: policy.Subject{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion},
			Rule:    r, Reason: policy.Expired, Owner: &policy.Owner{Kind: jobs, Name: owner.name, UID: owner.target().UID},
		}})
	}
	return all
}

// TestAllSubjectsOfAnOwnerBecomeReady: a subject that waits for the record of its owner becomes ready although another one waits for it too,
// or no longer does.
func TestAllSubjectsOfAnOwnerBecomeReady(t *testing.T) {
	inBubble(t, func(h *harness) {
		all := h.members(h.rule("a"), "job", "x", "y", "z")
		for _, m := range all {
			if o := h.Record(m.intent, m.job, m); o != nil {
				t.Errorf("not recorded: %v", o.Err)
			}
		}
		h.Withdraw(all[2].intent) // the last that was recorded
		bubble.Pass(10 * retryAfter)
		for i, m := range all {
			expect.Equal(t, m.intent.Subject.Name+" is ready", map[int]int{0: 1, 1: 1, 2: 0}[i], m.ready)
		}
	})
}

// TestOtherSettingsForAnOwnerDoNotLoseItsSubjects: rules with different settings record the same owner, one after the other.
func TestOtherSettingsForAnOwnerDoNotLoseItsSubjects(t *testing.T) {
	for name, withdrawn := range map[string]bool{"both stay": false, "the first is withdrawn": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				all := h.members(h.rule("a"), "job", "x", "y")
				other := h.rule("b", withPods)
				other.Kind, other.Owner = pods, true
				all[1].intent.Rule = other
				for range 3 { // they are evaluated again
					for _, m := range all {
						if o := h.Record(m.intent, m.job, m); o != nil {
							t.Errorf("not recorded: %v", o.Err)
						}
					}
				}
				if withdrawn {
					h.Withdraw(all[0].intent)
				}
				bubble.Pass(10 * retryAfter)
				expect.Equal(t, "x is ready", !withdrawn, all[0].ready == 1)
				expect.Equal(t, "y is ready", 1, all[1].ready)
				_ = h.Record(all[1].intent, all[1].job, all[1])
				bubble.Pass(10 * retryAfter)
				receipt, _ := h.Lookup(all[1].intent, all[1].job)
				expect.Equal(t, "recorded with the settings of y", true, receipt.Covers(all[1].job, other))
			})
		})
	}
}

// TestOtherSettingsForAnOwnerThatIsGone: the first subject never asks again.
func TestOtherSettingsForAnOwnerThatIsGone(t *testing.T) {
	inBubble(t, func(h *harness) {
		all := h.members(h.rule("a"), "job", "x", "y")
		other := h.rule("b", withPods)
		other.Kind, other.Owner = pods, true
		all[1].intent.Rule = other
		h.server.delete(all[0].job)
		_ = h.Record(all[0].intent, all[0].job, all[0])
		isGone := false
		for range 6 {
			o := h.Record(all[1].intent, all[1].job, all[1])
			isGone = isGone || o != nil && o.Result == retention.Gone
			bubble.Pass(10 * time.Second)
		}
		expect.Equal(t, "the second subject learns that it is gone", true, isGone)
	})
}

// TestRecordOfAnOwnerHasTheSubject: the record has each Pod that garbage collection deletes along, also one that lost its label.
func TestRecordOfAnOwnerHasTheSubject(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("a")
		withPods(r)
		all := h.members(r, "job", "x", "y")
		h.server.objects["Pod a/x"].unlabelled = true
		for _, m := range all {
			_ = h.Record(m.intent, m.job, m)
		}
		bubble.Pass(10 * retryAfter)
		record := h.record(h.stores["mem://history"], "job")
		expect.Equal(t, "dependents", []string{"Pod x", "Pod y"}, kindsOf(t, record.Dependents))
	})
}
