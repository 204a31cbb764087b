// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The maximum numbers in a digest, which bound its size.
const (
	mostPolicies = 50
	mostSamples  = 3 // of a policy
	mostProblems = 3 // of a policy
	maxMessage   = 300
)

// Content is what a digest says: the data of its template and of its CloudEvent.
type Content struct {
	Digest        string     `json:"digest"`               // name of the RetentionDigest
	ScheduledTime time.Time  `json:"scheduledTime"`        // when it was due
	Time          time.Time  `json:"time"`                 // when everything was counted
	Since         *time.Time `json:"since,omitempty"`      // the time from which deletions are counted; nil in the first digest, which counts none
	Ahead         string     `json:"ahead"`                // the period that Due covers: 1h, 1d or 7d
	Namespaces    []string   `json:"namespaces,omitempty"` // to which the digest is limited; empty for no limit
	DueNow        int64      `json:"dueNow"`               // objects that are due, of enforced policies
	Due           int64      `json:"due"`                  // objects that become due within Ahead, including DueNow
	Deleted       int64      `json:"deleted"`              // objects that were deleted since Since
	Gone          int64      `json:"gone"`                 // objects that did not exist after a request without an answer
	Stuck         int64      `json:"stuck"`                // policies with problems
	Uncounted     int64      `json:"uncounted"`            // policies whose deletions are not known
	Policies      []Policy   `json:"policies"`             // at most 50; those with problems come first, then those with the most due objects
	MorePolicies  int64      `json:"morePolicies"`         // policies that are not listed
}

// Policy is what a digest says about one policy.
type Policy struct {
	Kind        string     `json:"kind"`
	Namespace   string     `json:"namespace,omitempty"`
	Name        string     `json:"name"`
	Mode        string     `json:"mode"`   // DryRun, Enforce or Suspend
	DueNow      int64      `json:"dueNow"` // in a dry run: objects that would be deleted
	Due         int64      `json:"due"`
	Storage     *Storage   `json:"storage,omitempty"` // nil if no rule gives sizes
	NextDueTime *time.Time `json:"nextDueTime,omitempty"`
	Soonest     []Sample   `json:"soonest,omitempty"`  // at most three of the objects that are due within Ahead
	Deleted     int64      `json:"deleted"`            // 0 if Uncounted
	Gone        int64      `json:"gone"`               // 0 if Uncounted
	Exact       bool       `json:"exact"`              // a ledger has counted the deletions; otherwise a crash may have lost some
	Uncounted   bool       `json:"uncounted"`          // the deletions are not known
	Problems    []Problem  `json:"problems,omitempty"` // what stops deletions; at most three
}

// Storage is the storage of the objects of a policy whose size is known.
type Storage struct {
	Estimated bool             `json:"estimated,omitempty"` // a rule computes sizes with bytes
	Due       v1alpha1.Storage `json:"due"`                 // of the objects that are due within Ahead
	Kept      v1alpha1.Storage `json:"kept"`                // of the eligible objects without a due time, without images
	Deleted   v1alpha1.Storage `json:"deleted"`             // since Since, without images; 0 for the objects of a ClusterRetentionPolicy in some namespaces
	Currency  string           `json:"currency,omitempty"`
}

// Text describes a part of the storage, such as "1.5 GB (estimated 0.12 EUR a month)".
func (s *Storage) Text(of v1alpha1.Storage) string {
	text := size(of.Bytes)
	switch {
	case of.EstimatedMonthlyCost != "":
		text += fmt.Sprintf(" (estimated %s %s a month)", of.EstimatedMonthlyCost, s.Currency)
	case s.Estimated:
		text += " (estimated)"
	}
	return text
}

// Sample is an object that is deleted soon.
type Sample struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	DueTime   time.Time `json:"dueTime"`
	Rule      string    `json:"rule"`
	Explain   string    `json:"explain"` // the command that explains the decision
}

// Problem is a cause that stops deletions.
type Problem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Summary is the digest in one line.
func (c *Content) Summary() string {
	text := fmt.Sprintf("%d due within %s", c.Due, c.Ahead)
	if c.Since != nil {
		text += fmt.Sprintf(", %d deleted", c.Deleted)
	}
	switch c.Stuck {
	case 0:
	case 1:
		text += ", 1 policy has problems"
	default:
		text += fmt.Sprintf(", %d policies have problems", c.Stuck)
	}
	return text
}

// Title names a policy and its mode.
func (p Policy) Title() string {
	title := p.Kind + " " + strings.TrimPrefix(p.Namespace+"/"+p.Name, "/")
	if p.Mode != "Enforce" {
		title += " (" + p.Mode + ")"
	}
	return title
}
