package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// tolerance is how late a deletion may be here. Sunset is faster by far; a busy machine may not be.
const tolerance = 2 * time.Second

// dryRunIsRight says what is not yet as it should be before Enforce may come.
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

// counts compares a status with what it should be.
func counts(s v1alpha1.RetentionPolicyStatus, matched, eligible, held, due, deleted int64) error {
	got := []int64{s.Matched, s.Eligible, s.Held, s.Due.Now, s.Deleted}
	for i, want := range []int64{matched, eligible, held, due, deleted} {
		if got[i] != want {
			return fmt.Errorf("the status has matched, eligible, held, due, deleted = %d, and not %d", got,
				[]int64{matched, eligible, held, due, deleted})
		}
	}
	return nil
}

// problems says everything that is not as it should be at the end; nothing when the demo has succeeded.
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

// misfate says how a Job's fate differs from the plan; empty when it does not.
func misfate(j job, p plan, h history) string {
	switch {
	case p.stays && !j.gone.IsZero():
		return "should have stayed, and was deleted"
	case p.stays && j.pods != 1:
		return fmt.Sprintf("stays, and has %d Pods, not one", j.pods)
	case p.stays:
		return ""
	case j.gone.IsZero():
		return "is still there"
	case h.at(j.gone).mode != v1alpha1.Enforce:
		return "was deleted in a dry run"
	case !j.ran:
		return "never had a Pod"
	case j.pods > 0:
		return fmt.Sprintf("is gone, but %d of its Pods is not", j.pods)
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
