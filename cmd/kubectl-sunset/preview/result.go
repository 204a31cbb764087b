// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// Result holds the decisions about all objects.
type Result struct {
	At       time.Time
	Rows     []Row        // by namespace, kind and name
	Failures []Failure    // in the same order; failures without an object first
	Counts   []RuleCounts // by policy and rule name; every rule has one
	Unplaced int          // number of objects without a namespace, although their kind needs one; 0 if that is not known

	Prices         *policy.Prices // of storage; nil for none
	EstimatedSizes bool           // a rule computes sizes with bytes

	Compared bool     // a comparison with the rules in force was made
	Changes  []Change // from the rules in force, in the order of the rows
}

// Row is the decision about one subject. A subject that no rule selects has no row.
type Row struct {
	APIVersion, Kind string
	Namespace, Name  string
	Verdict          policy.Verdict
	Message          string // details of the reason, if there are any
	Image            *Image // nil for any other object
	Storage          policy.Amount

	Propagation metav1.DeletionPropagation // for a deleted owner: the propagation to its dependents
	Dependents  int                        // of the deleted owner, direct and indirect; 0 if they were not counted
	Blocked     string                     // why the owner cannot be deleted; empty if it can, or that is not known

	unchanged bool // same decision by the rules in force, whose row is removed already
}

func (r Row) compare(o Row) int {
	return cmp.Or(cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Name, o.Name), cmp.Compare(r.APIVersion, o.APIVersion))
}

// Failure is an object that a rule could not evaluate.
//
// Failure is also its format in JSON, YAML and want.yaml, which is stable.
type Failure struct {
	policy.RuleID        // zero if the failure concerns references
	Namespace     string `json:"namespace,omitempty"` // with an empty Name if the failure concerns no particular object
	Name          string `json:"name,omitempty"`
	Message       string `json:"message"`
}

func (f Failure) compare(o Failure) int {
	return cmp.Or(cmp.Compare(f.Namespace, o.Namespace), cmp.Compare(f.Name, o.Name), f.RuleID.Compare(o.RuleID), cmp.Compare(f.Message, o.Message))
}

// RuleCounts counts the subjects of a rule. Except in Matched, a subject counts only for the rule that decided about it.
type RuleCounts struct {
	Rule                 policy.RuleID
	Matched              int   // subjects that the rule selects
	Now, Hour, Day, Week Total // due by then; each includes the ones before; for a dry run, what would be due
	Later                Total // due after a week
	Kept                 Total // the rest
}

// Total is a number of subjects, and the storage of the subjects whose size is known.
type Total struct {
	Subjects int
	Storage  policy.Amount
}

// Add adds another total.
func (t *Total) Add(o Total) {
	t.Subjects += o.Subjects
	t.Storage = t.Storage.Plus(o.Storage)
}

func (t *RuleCounts) count(v policy.Verdict, at time.Time, storage policy.Amount) {
	one := Total{1, storage}
	if v.IsKept() {
		t.Kept.Add(one)
		return
	}
	left := v.Due.Sub(at)
	for _, window := range []struct {
		count *Total
		span  time.Duration
	}{{&t.Now, 0}, {&t.Hour, time.Hour}, {&t.Day, policy.Day}, {&t.Week, policy.Week}} {
		if left <= window.span {
			window.count.Add(one)
		}
	}
	if left > policy.Week {
		t.Later.Add(one)
	}
}

func (t *RuleCounts) merge(o *RuleCounts) {
	t.Matched += o.Matched
	t.Now.Add(o.Now)
	t.Hour.Add(o.Hour)
	t.Day.Add(o.Day)
	t.Week.Add(o.Week)
	t.Later.Add(o.Later)
	t.Kept.Add(o.Kept)
}

// results holds the results of one goroutine.
type results struct {
	at       time.Time
	prices   *policy.Prices
	rows     []Row
	failures []Failure
	counts   map[policy.RuleID]*RuleCounts
	// candidates have no row yet.
	candidates []candidate
	owners     ownerGraph // nil if owners are not needed
	unplaced   int        // number of objects without a namespace, although their kind needs one
	texts      map[string]string
	versions   map[schema.GroupVersion]string
}

func (j *Judge) newResults() *results {
	return &results{
		at:       j.At,
		prices:   j.Prices,
		counts:   map[policy.RuleID]*RuleCounts{},
		texts:    map[string]string{},
		versions: map[schema.GroupVersion]string{},
	}
}

// add adds the decision about one subject, if any rule selects it.
func (s *results) add(c *candidate) {
	kind, subject, evaluations := c.kind, c.subject, c.evaluations
	for _, r := range evaluations {
		if r.Facts.Selected {
			s.countsOf(r.Rule.ID).Matched++
		}
		if r.Facts.Err != nil && !r.Facts.InDoubt() { // unknown references are reported once for all objects
			s.fail(r.Rule.ID, subject, r.Facts.Err.Error())
		}
	}
	v := Verdict(subject, evaluations, s.at)
	if v.Reason == policy.NotSelected {
		return
	}
	storage := s.prices.OfLargest(evaluations)
	if c.image != nil { // also if it is not eligible
		storage = s.prices.Of(kind.GroupKind(), policy.Size{Bytes: c.image.Bytes})
	}
	s.countsOf(v.Rule).count(v, s.at, storage)
	s.rows = append(s.rows, Row{
		APIVersion: s.version(kind.GroupVersion()),
		Kind:       s.intern(kind.Kind),
		Namespace:  subject.Namespace,
		Name:       subject.Name,
		Verdict:    v,
		Message:    s.intern(explain(v, c, s.at)),
		Image:      c.image,
		Storage:    storage,
	})
}

func (s *results) fail(rule policy.RuleID, subject policy.Subject, message string) {
	s.failures = append(s.failures, Failure{RuleID: rule, Namespace: subject.Namespace, Name: subject.Name, Message: s.intern(message)})
}

func (s *results) countsOf(rule policy.RuleID) *RuleCounts {
	if s.counts[rule] == nil {
		s.counts[rule] = &RuleCounts{Rule: rule}
	}
	return s.counts[rule]
}

// interned limits the number of stored strings. More of them would save nothing, because strings that differ each time are not
// shared.
const interned = 10_000

// intern returns one copy of equal strings, such as the namespace of many objects.
func (s *results) intern(text string) string {
	if known, ok := s.texts[text]; ok {
		return known
	}
	if len(s.texts) < interned {
		s.texts[text] = text
	}
	return text
}

func (s *results) version(gv schema.GroupVersion) string {
	text, ok := s.versions[gv]
	if !ok {
		text = gv.String()
		s.versions[gv] = text
	}
	return text
}

// result merges the results of all workers. Every rule of the policies gets counts, so that a rule without subjects is visible.
func (j *Judge) result(byWorker []*results) *Result {
	all := j.newResults()
	result := &Result{At: j.At, Failures: j.Referred.Failures(), Prices: j.Prices}
	for _, p := range j.rules.snapshot.Policies() {
		for _, rule := range p.Rules {
			if j.about(policy.StoredAs(rule.Kind)) {
				all.countsOf(rule.ID)
				result.EstimatedSizes = result.EstimatedSizes || rule.Spec.Bytes != ""
			}
		}
	}
	for _, s := range append(byWorker, j.ranked(byWorker)) {
		result.Rows = append(result.Rows, s.rows...)
		result.Failures = append(result.Failures, s.failures...)
		result.Unplaced += s.unplaced
		for id, t := range s.counts {
			all.countsOf(id).merge(t)
		}
	}
	j.addOwners(result, byWorker)
	for _, t := range all.counts {
		result.Counts = append(result.Counts, *t)
	}
	result.sort()
	return result
}

func (r *Result) sort() {
	slices.SortFunc(r.Rows, Row.compare)
	slices.SortFunc(r.Failures, Failure.compare)
	slices.SortFunc(r.Counts, func(a, b RuleCounts) int { return a.Rule.Compare(b.Rule) })
}

// Repeated returns the number of rows about an object that another row is about too.
func (r *Result) Repeated() (n int) {
	for i := 1; i < len(r.Rows); i++ {
		if r.Rows[i].compare(r.Rows[i-1]) == 0 {
			n++
		}
	}
	return n
}

// Fail adds failures that occurred while objects were read.
func (r *Result) Fail(failures ...Failure) {
	r.Failures = append(r.Failures, failures...)
	r.sort()
}
