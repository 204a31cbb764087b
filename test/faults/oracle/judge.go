package oracle

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

// judge goes through the evidence.
type judge struct {
	Evidence
	env      *cel.Env
	times    *history.Timeline
	writers  map[int64]string // who wrote a revision, where that is known
	policies map[*history.State]*policy
	bySpec   map[string]*policy // the same, since status changes often
	editions map[place][]edition
	known    map[question]facts
	removals map[types.UID]*removal
	backlogs map[backlogKey]bool
	due      map[dueKey][2]int64 // due by a change, and all
	report   Report
}

// removal is a DELETE of Sunset's that ended an object, or was tried and did not.
type removal struct {
	request  history.Request
	change   history.Change
	at       time.Time // by when it had gone
	sent     time.Time // when Sunset sent the DELETE: what was not due then was not due
	tried    bool      // it removed nothing
	deciders []*policy // any of which may have let it go
	rules    []*rule   // of theirs, those that may have decided
}

// Check judges everything that Sunset's users did. The error is of evidence that cannot be read.
func Check(e Evidence) (Report, error) {
	j, err := newJudge(e)
	if err != nil {
		return Report{}, err
	}
	for _, r := range j.Requests {
		switch {
		case !j.isOurs(r), !r.Writes():
		case isSubject(r):
			j.request(r)
		case isBurial(r):
			j.burial(r)
		}
	}
	j.report.Removed = len(j.removals)
	j.limits()
	j.counts()
	j.lively()
	j.late()
	j.paced()
	j.spent()
	return j.report, nil
}

func newJudge(e Evidence) (*judge, error) {
	env, err := newEnv()
	if err != nil {
		return nil, fmt.Errorf("build CEL environment: %w", err)
	}
	return &judge{
		Evidence: e.withDefaults(), env: env, times: history.NewTimeline(e.Requests, e.Log), writers: writersOf(e.Requests),
		policies: map[*history.State]*policy{}, bySpec: map[string]*policy{}, editions: map[place][]edition{}, known: map[question]facts{},
		removals: map[types.UID]*removal{}, backlogs: map[backlogKey]bool{}, due: map[dueKey][2]int64{},
	}, nil
}

// writersOf says who wrote a revision. The first who answers with it did: others changed nothing.
func writersOf(requests []history.Request) map[int64]string {
	writers := map[int64]string{}
	for _, r := range requests {
		revision, err := strconv.ParseInt(r.AnsweredVersion(), 10, 64)
		if _, known := writers[revision]; err == nil && !known && r.Writes() && r.Succeeded() {
			writers[revision] = r.User
		}
	}
	return writers
}

func (j *judge) isOurs(r history.Request) bool { return slices.Contains(j.Users, r.User) }

// isSubject reports whether a request is about what policies are about. What Sunset keeps for itself it may write, and of that
// delete ledgers alone.
func isSubject(r history.Request) bool {
	deletes := r.Verb == "delete" || r.Verb == "deletecollection"
	switch r.Group {
	case "sunset.x-k8s.io", "events.k8s.io", "coordination.k8s.io", "authorization.k8s.io", "node.sunset.x-k8s.io":
		return deletes && !isBurial(r)
	}
	return deletes || r.Resource != "events" && r.Resource != ""
}

func (j *judge) notJudged(format string, about ...any) {
	j.report.NotJudged = append(j.report.NotJudged, fmt.Sprintf(format, about...))
}

func (j *judge) violated(p Promise, r history.Request, s *history.State, revision int64, why string) {
	v := Violation{Promise: p, Revision: revision, Why: why}
	if r.ID != "" {
		v.Request = r.String()
	}
	if s != nil {
		v.Object = nameOf(s)
	}
	j.report.Violations = append(j.report.Violations, v)
}

// policyOf reads a policy once for each form of its spec.
func (j *judge) policyOf(s *history.State) *policy {
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
