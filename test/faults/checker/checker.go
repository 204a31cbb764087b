// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// checker checks the evidence.
type checker struct {
	Evidence
	env        *cel.Env
	programs   map[string]program // by their text
	times      *history.Timeline
	writers    map[int64]string // user that wrote a revision, if known
	policies   map[*history.State]*policy
	bySpec     map[string]*policy // shares policies between status changes
	versionsOf map[place][]version
	known      map[question]facts
	timetables map[string]*timetable // by their windows
	removals   map[types.UID]*removal
	changes    map[changeKey]bool
	due        map[dueKey][2]int64 // number of objects due by a change, and of all selected ones
	report     Report
}

// removal is a DELETE of Sunset that removed an object, or tried to.
type removal struct {
	request  history.Request
	change   history.Change
	at       time.Time // latest time at which the object was gone
	sent     time.Time // when Sunset sent the DELETE: an object that was not due then was not due
	tried    bool      // it removed nothing
	deciders []*policy // policies that may have decided
	rules    []*rule   // rules of deciders that may have decided
}

// Check checks every request of Sunset's users. It returns an error if the evidence cannot be read.
func Check(e Evidence) (Report, error) {
	j, err := newChecker(e)
	if err != nil {
		return Report{}, err
	}
	for _, r := range j.Requests {
		switch {
		case !j.isOurs(r), !r.Writes():
		case createsSnapshot(r):
			j.snapshotCreation(r)
		case isSubject(r):
			j.request(r)
		case deletesLedger(r):
			j.checkLedgerDeletion(r)
		}
	}
	j.report.Removed = len(j.removals)
	j.limits()
	j.counts()
	j.checkDue()
	j.late()
	j.paced()
	j.spent()
	j.records()
	j.results()
	j.sums()
	return j.report, nil
}

func newChecker(e Evidence) (*checker, error) {
	env, err := sharedEnv()
	if err != nil {
		return nil, fmt.Errorf("build CEL environment: %w", err)
	}
	return &checker{
		Evidence: e.withDefaults(), env: env, times: history.NewTimeline(e.Requests, e.Log), writers: writersOf(e.Requests),
		programs: map[string]program{}, policies: map[*history.State]*policy{}, bySpec: map[string]*policy{}, versionsOf: map[place][]version{}, known: map[question]facts{},
		timetables: map[string]*timetable{}, removals: map[types.UID]*removal{}, changes: map[changeKey]bool{}, due: map[dueKey][2]int64{},
	}, nil
}

// writersOf returns the user that wrote each revision. The first request whose answer has the revision wrote it: later ones
// changed nothing. The answer to a deletecollection has the revision at which it began, which another request wrote.
func writersOf(requests []history.Request) map[int64]string {
	writers := map[int64]string{}
	for _, r := range requests {
		if r.Verb == "deletecollection" || !r.Writes() || !r.Succeeded() {
			continue
		}
		revision, err := strconv.ParseInt(r.AnsweredVersion(), 10, 64)
		if _, known := writers[revision]; err == nil && !known {
			writers[revision] = r.User
		}
	}
	return writers
}

func (j *checker) isOurs(r history.Request) bool { return slices.Contains(j.Users, r.User) }

// isSubject reports whether a request concerns objects that policies may delete. Sunset may write its own kinds, but it may
// delete only ledgers.
func isSubject(r history.Request) bool {
	deletes := r.Verb == "delete" || r.Verb == "deletecollection"
	switch r.Group {
	case "sunset-k8s.io", "events.k8s.io", "coordination.k8s.io", "authorization.k8s.io", "node.sunset-k8s.io":
		return deletes && !deletesLedger(r)
	}
	return deletes || r.Resource != "events" && r.Resource != ""
}

func (j *checker) notChecked(format string, about ...any) {
	j.report.NotChecked = append(j.report.NotChecked, fmt.Sprintf(format, about...))
}

func (j *checker) violated(p Promise, r history.Request, s *history.State, revision int64, why string) {
	v := Violation{Promise: p, Revision: revision, Why: why}
	if r.ID != "" {
		v.Request = r.String()
	}
	if s != nil {
		v.Object = nameOf(s)
	}
	j.report.Violations = append(j.report.Violations, v)
}

// policyOf reads a policy once for each version of its spec and annotations.
func (j *checker) policyOf(s *history.State) *policy {
	if p := j.policies[s]; p != nil {
		return p
	}
	spec, _ := json.Marshal([]any{s.GetUID(), s.Object["spec"], s.GetAnnotations()}) // it came from JSON
	p := j.bySpec[string(spec)]
	if p == nil {
		p = j.readPolicy(s)
		j.bySpec[string(spec)] = p
	}
	j.policies[s] = p
	return p
}
