// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// Promise is a promise that the checker checks.
type Promise string

// The promises of docs/concepts/deletion.md and related pages.
const (
	Fenced       Promise = "every DELETE names UID, resourceVersion and the propagation policy of its rule"
	Marked       Promise = "a patch changes only the marks of the version that it names"
	Restrained   Promise = "dry runs and suspended policies change nothing"
	Allowed      Promise = "the policies allow the deletion of the version that a DELETE names"
	NotEarly     Promise = "no object is deleted before it is due"
	HeldStays    Promise = "a held object is kept, from the moment the API server has the hold"
	NotTwice     Promise = "a terminating object is not deleted again"
	Untouched    Promise = "protected kinds and namespaces are not changed"
	Counted      Promise = "no Pod is deleted before the Job controller has counted it"
	Limited      Promise = "limits apply to every window"
	Approved     Promise = "many objects are not deleted without a preview or an approval"
	Exact        Promise = "counts contain each deletion once"
	WrittenFirst Promise = "a ledger records each deletion before the DELETE"
	Archived     Promise = "a verified record of the version that a DELETE names is in the archive before the DELETE"
	Snapshotted  Promise = "a claim is deleted only with a VolumeSnapshot that is ready to use and was taken after it was due"
	Recorded     Promise = "the records and results in an archive are what happened"
	Lively       Promise = "due objects are deleted"
	Told         Promise = "the condition NoCommonWindow says whether windows never open together"
	Paced        Promise = "no more DELETEs per second than --max-deletions-per-second"
)

// Violation is one broken promise.
type Violation struct {
	Promise  Promise
	Request  string // that broke the promise; empty for none
	Object   string
	Revision int64 // of the violation; zero for none
	Why      string
}

// String formats the violation for a test log.
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

// Report is the result of a check.
type Report struct {
	Deletions  int // number of DELETEs sent
	Checked    int // number of DELETEs checked against the policies and the version that they name, regardless of the result
	Removed    int // number of objects removed
	NotChecked []string
	Violations []Violation
}

// Err returns nil if everything was checked and no promise was broken.
func (r Report) Err() error {
	if len(r.NotChecked)+len(r.Violations) == 0 {
		return nil
	}
	return fmt.Errorf("%s", r)
}

// String formats the whole report.
func (r Report) String() string {
	lines := []string{fmt.Sprintf("%d DELETEs, %d of them checked, %d objects removed, %d not checked, %d violations",
		r.Deletions, r.Checked, r.Removed, len(r.NotChecked), len(r.Violations))}
	for _, v := range r.Violations {
		lines = append(lines, v.String())
	}
	for _, n := range r.NotChecked {
		lines = append(lines, "not checked: "+n)
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
