// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The shortest and the longest duration of a window.
const (
	shortestOpening = time.Minute
	longestOpening  = 366 * Day
)

// mostReason is the maximum length of the reason of a freeze.
const mostReason = 256

// loadTimes reads when the rules of the policy may delete.
func (p *Policy) loadTimes(spec *Spec) {
	p.Windows = p.loadWindows(windowsField, spec.Windows)
	if p.Windows != nil && len(spec.Rules) == 0 {
		p.problem(windowsField, "the policy has no rules, to which windows would apply", "to restrict rules of a ClusterRetentionPolicy in a namespace, write windows in overrides")
	}
	for i := range spec.Freezes {
		p.Freezes = append(p.Freezes, p.loadFreeze(elementPath(freezesField, i), &spec.Freezes[i], len(spec.Rules) > 0))
	}
	if doubt := p.unreadFreeze(); doubt != nil && !p.namespaced { // otherwise doubt suspends the rules in the namespace
		p.Freezes = append(p.Freezes, Freeze{By: p.Name, From: time.Unix(0, 0).UTC(), To: lastTime, Reason: Shorten(doubt.String(), mostReason), All: true})
	}
	slices.SortFunc(p.Freezes, Freeze.compare)
}

// unreadFreeze is a problem that may hide any freeze; nil if there is none.
func (p *Policy) unreadFreeze() *Problem {
	for _, problem := range p.Problems {
		if problem.Path == "spec" || within(problem.Path, freezesField) {
			return &problem
		}
	}
	return lost(freezesField, p.meant, p.Problems)
}

// lost is the problem of a field elsewhere that was probably meant to be this field, or an essential part of it; nil if there is none. Fields
// such as reason and selector can mean much else.
func lost(field string, meant []Meant, problems []Problem) *Problem {
	for _, m := range meant {
		part := m.By[strings.LastIndex(m.By, ".")+1:]
		if !within(m.Path, field) || within(m.By, field) || m.Path != field && !slices.Contains([]string{"from", "to", "allPolicies"}, part) {
			continue
		}
		for _, problem := range problems {
			if problem.Path == m.By {
				return &problem
			}
		}
		return &Problem{Path: m.By, Message: "unknown field"} // another problem mentions it
	}
	return nil
}

// loadWindows reads windows; nil if there are none, or if none of them can be read.
func (p *Policy) loadWindows(path string, written []v1alpha1.Window) *Windows {
	if written != nil && len(written) == 0 {
		p.problem(path, "empty", "leave it out, or write at least one window")
	}
	w := &Windows{By: p.Name}
	for i := range written {
		if one := p.loadWindow(elementPath(path, i), &written[i]); one.starts != nil {
			w.List = append(w.List, one)
		}
	}
	if len(w.List) == 0 {
		return nil
	}
	return w
}

func (p *Policy) loadWindow(path string, written *v1alpha1.Window) *Window {
	w := &Window{Schedule: written.Schedule, TimeZone: written.TimeZone}
	var err error
	switch w.Duration, err = ParseTTL(written.Duration); {
	case err != nil:
		p.problem(path+".duration", err.Error(), cmp.Or(TTLHint(written.Duration), `write how long the window stays open, such as "8h"`))
	case w.Duration < shortestOpening || w.Duration > longestOpening:
		p.problem(path+".duration", fmt.Sprintf("%q is out of range", written.Duration), "1m to 366d")
	}
	var problems []Problem
	w.starts, problems = LoadSchedule(path, w.Schedule, w.TimeZone)
	for _, problem := range problems {
		p.problem(problem.Path, problem.Message, problem.Hint)
	}
	return w
}

func (p *Policy) loadFreeze(path string, written *v1alpha1.Freeze, hasRules bool) Freeze {
	f := Freeze{By: p.Name, From: written.From.UTC().Truncate(time.Second), To: RoundUp(written.To.Time, time.Second), Reason: written.Reason, All: written.AllPolicies}
	switch {
	case f.From.IsZero():
		p.problem(path+".from", "missing", "write when the freeze begins, such as 2026-12-19T00:00:00Z")
	case f.To.IsZero():
		p.problem(path+".to", "missing", "write when the freeze ends, such as 2027-01-04T08:00:00Z")
	case !f.From.Before(f.To):
		p.problem(path+".to", fmt.Sprintf("%s is not later than from, %s", f.To.Format(time.RFC3339), f.From.Format(time.RFC3339)), "write a later time, or correct from")
	case !f.All && !hasRules:
		p.problem(path, "the policy has no rules, to which the freeze would apply", "for the rules of all policies, write allPolicies: true")
	}
	return f
}
