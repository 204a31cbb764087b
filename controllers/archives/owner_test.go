// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"strings"
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

// TestRecordOfAnOwnerHasTheSubject: an owner is not deleted by a record without the subject, which garbage collection would delete along.
func TestRecordOfAnOwnerHasTheSubject(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("a")
		withPods(r)
		m := h.members(r, "job", "x")[0]
		m.intent.Subject.UID = "uid-unlabelled"
		_ = h.Record(m.intent, m.job, m)
		bubble.Pass(10 * retryAfter)
		if _, ok := h.Lookup(m.intent, m.job); ok {
			t.Error("there is a receipt")
		}
		if o := h.Record(m.intent, m.job, m); o == nil || !strings.Contains(o.Err.Error(), "Pod x is not among its dependents") {
			t.Errorf("outcome %+v", o)
		}
	})
}
