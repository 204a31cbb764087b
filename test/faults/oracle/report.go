package oracle

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// Promise is one of those that are checked.
type Promise string

// The promises, of docs/policy.md and the pages beside it.
const (
	Fenced       Promise = "every DELETE names UID, resourceVersion and the propagation policy of its rule"
	Marked       Promise = "a patch marks the version that it names, and does nothing else"
	Restrained   Promise = "dry runs and suspended policies change nothing"
	Judged       Promise = "what goes is the version that was judged, and the policies let it go"
	NotEarly     Promise = "nothing goes before its time"
	HeldStays    Promise = "what is held stays, from the moment the API server has the hold"
	NotTwice     Promise = "what is being deleted already is not deleted again"
	Untouched    Promise = "protected kinds and namespaces are left alone"
	Counted      Promise = "no Pod goes before its Job has counted it"
	Limited      Promise = "limits hold over every window"
	Approved     Promise = "nothing big goes that nobody has previewed"
	Exact        Promise = "counts are of what was deleted, each once"
	WrittenFirst Promise = "what counts in a ledger is written there before it is deleted"
	Lively       Promise = "what is due goes"
	Paced        Promise = "no more is deleted in a second than --max-deletions-per-second"
)

// Violation is one broken promise.
type Violation struct {
	Promise  Promise
	Request  string // that broke it; empty where none did
	Object   string
	Revision int64 // at which it happened; zero where it did not
	Why      string
}

// String is the violation as a test reports it.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "broken: %s\n  object %s", v.Promise, v.Object)
	if v.Revision > 0 {
		fmt.Fprintf(&b, ", revision %d", v.Revision)
	}
	if v.Request != "" {
		fmt.Fprintf(&b, "\n  request %s", v.Request)
	}
	fmt.Fprintf(&b, "\n  %s", v.Why)
	return b.String()
}

// Report is the outcome of a check.
type Report struct {
	Deletions  int // DELETEs that were sent
	Judged     int // of these, those for which the policies and the version that they name were asked, whatever came of them
	Removed    int // objects that they removed
	NotJudged  []string
	Violations []Violation
}

// Err is nil if everything was judged and no promise was broken.
func (r Report) Err() error {
	if len(r.NotJudged)+len(r.Violations) == 0 {
		return nil
	}
	return fmt.Errorf("%s", r)
}

// String has all of the report.
func (r Report) String() string {
	lines := []string{fmt.Sprintf("%d DELETEs, %d of them judged, %d objects removed, %d not judged, %d violations",
		r.Deletions, r.Judged, r.Removed, len(r.NotJudged), len(r.Violations))}
	for _, v := range r.Violations {
		lines = append(lines, v.String())
	}
	for _, n := range r.NotJudged {
		lines = append(lines, "not judged: "+n)
	}
	return strings.Join(lines, "\n")
}

func nameOf(s *history.State) string {
	name := s.GetName()
	if s.GetNamespace() != "" {
		name = s.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("%s %s (uid %s)", s.GetKind(), name, s.GetUID())
}
