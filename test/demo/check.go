// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// tolerance is how late a deletion may be in the demo. Sunset is much faster, but the machine may be busy.
const tolerance = 2 * time.Second

// dryRunIsRight returns what is still missing before the policy may switch to Enforce.
func dryRunIsRight(f frame, plans []plan) error {
	due, eligible, matched, held := int64(0), int64(0), int64(0), int64(0)
	r := f.rules.at(f.now)
	for _, p := range plans {
		j, ok := f.job(p)
		switch {
		case !ok || (j.finished.IsZero() && !p.stays):
			return fmt.Errorf("%s has not finished", p.name)
		case !j.gone.IsZero():
			return fmt.Errorf("%s was deleted in a dry run", p.name)
		case !j.selected(r):
			continue
		}
		matched++
		eligible += one(!j.finished.IsZero())
		held += one(j.held)
		at, _ := j.due(r)
		due += one(j.kept(r) == "" && !at.After(f.now))
	}
	if due < backlog {
		return fmt.Errorf("only %d Jobs are due", due)
	}
	return counts(f.policy.status, matched, eligible, held, due, 0)
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// counts compares a status with the expected counts.
func counts(s v1alpha1.RetentionPolicyStatus, matched, eligible, held, due, deleted int64) error {
	got := []int64{s.Matched, s.Eligible, s.Held, s.Due.Now, s.Deleted}
	for i, want := range []int64{matched, eligible, held, due, deleted} {
		if got[i] != want {
			return fmt.Errorf("status matched, eligible, held, due, deleted = %d, want %d", got,
				[]int64{matched, eligible, held, due, deleted})
		}
	}
	return nil
}

// problems returns the differences from the plan at the end; none if the demo has succeeded.
func problems(f frame, plans []plan) []string {
	var found []string
	matched, eligible, held := int64(0), int64(0), int64(0)
	for _, p := range plans {
		j, ok := f.job(p)
		if !ok {
			found = append(found, p.name+" was not created")
			continue
		}
		if why := misfate(j, p, f.rules); why != "" {
			found = append(found, p.namespace+"/"+p.name+" "+why)
		}
		if p.stays && j.selected(f.rules.at(f.now)) {
			matched++
			eligible += one(!j.finished.IsZero())
			held += one(j.held)
		}
	}
	if err := counts(f.policy.status, matched, eligible, held, 0, int64(going(plans))); err != nil {
		found = append(found, err.Error())
	}
	return found
}

// misfate returns how a Job differs from its plan; empty if it does not.
func misfate(j job, p plan, h history) string {
	switch {
	case p.stays && !j.gone.IsZero():
		return "was deleted, but should have stayed"
	case p.stays && j.pods != 1:
		return fmt.Sprintf("stays but has %d Pods, want 1", j.pods)
	case p.stays:
		return ""
	case j.gone.IsZero():
		return "was not deleted"
	case h.at(j.gone).mode != v1alpha1.Enforce:
		return "was deleted in a dry run"
	case !j.ran:
		return "never had a Pod"
	case j.pods > 0:
		return fmt.Sprintf("was deleted, but Pods remain: %d", j.pods)
	}
	switch late, since := j.lateness(h); {
	case late < 0:
		return "was deleted " + span(-late) + " early"
	case late > tolerance:
		return "was deleted " + span(late) + " after " + since
	}
	return ""
}

func firstOf(found []string) error {
	if len(found) == 0 {
		return nil
	}
	return errors.New(found[0])
}
