// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"testing"

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
