// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Comparison evaluates each object twice: with the input's rules, and with the rules in force. It is immutable and safe for
// concurrent use.
type Comparison struct {
	shown         judgePair // the kinds of the input: the result has their decisions
	beyond        judgePair // kinds that only the replaced rules target: the result has only their changes
	otherVersions sets.Set[schema.GroupKind]
}

// judgePair is two judges for the same kinds.
type judgePair struct{ before, after *Judge }

// InForce holds the policies to compare with.
type InForce struct {
	Policies []*policy.Policy
	Referred *Referred // according to these policies
}

// NewComparison returns a Comparison. The input must name its kinds. beyond are other kinds to compare. The caller must not
// change the arguments afterwards.
func NewComparison(in Input, inForce InForce, beyond sets.Set[schema.GroupKind]) *Comparison {
	after := New(in)
	in.Policies, in.Referred = inForce.Policies, inForce.Referred
	before := New(in)
	c := &Comparison{otherVersions: sets.New[schema.GroupKind]()}
	for kind := range in.Kinds.Union(beyond) {
		was, is := before.rules.snapshot.Version(kind), after.rules.snapshot.Version(kind)
		if !was.Empty() && !is.Empty() && was != is {
			c.otherVersions.Insert(kind)
		}
	}
	c.shown = judgePair{before, after}
	more := beyond.Difference(in.Kinds).Difference(c.otherVersions)
	c.beyond = judgePair{before.only(more), after.only(more)}
	return c
}

// only returns the same judge for other kinds.
func (j *Judge) only(kinds sets.Set[schema.GroupKind]) *Judge {
	other := *j
	other.Kinds = kinds
	return &other
}

// Targets returns the kinds that rules of either side target, each at the version to read.
func (c *Comparison) Targets() []schema.GroupVersionKind {
	targets := c.shown.targets()
	return append(targets, c.beyond.targets()...)
}

func (v judgePair) targets() []schema.GroupVersionKind {
	targets := v.after.Targets()
	for _, target := range v.before.Targets() {
		kind := policy.StoredAs(target)
		i := slices.IndexFunc(targets, func(t schema.GroupVersionKind) bool { return policy.StoredAs(t) == kind })
		switch {
		case i < 0:
			targets = append(targets, target)
		case v.after.rules.snapshot.Version(kind).Empty():
			targets[i] = target // the new rules keep the kind at any version
		}
	}
	return targets
}

// RulesOf returns the rules of both sides for a kind.
func (c *Comparison) RulesOf(kind schema.GroupKind) []*policy.Rule {
	return slices.Concat(c.shown.after.RulesOf(kind), c.shown.before.RulesOf(kind))
}

// Ranks reports whether, by the rules of either side, the decision about an object of a kind depends on other objects.
func (c *Comparison) Ranks(kind schema.GroupKind) (ranks, everywhere bool) {
	was, wasEverywhere := c.shown.before.Ranks(kind)
	is, isEverywhere := c.shown.after.Ranks(kind)
	return was || is, wasEverywhere || isEverywhere
}

// Uncompared explains for each kind why it cannot be compared: objects are read at one version only. The result has the
// decisions of the input's rules about these objects, but no changes.
func (c *Comparison) Uncompared() []string {
	var reasons []string
	for kind := range c.otherVersions {
		was, is := c.shown.before.rules.snapshot.Version(kind), c.shown.after.rules.snapshot.Version(kind)
		reasons = append(reasons, fmt.Sprintf("%s is not compared: the rules in force read it at version %s, the rules in the files at %s",
			kind, was.GroupVersion(), is.GroupVersion()))
	}
	slices.Sort(reasons)
	return reasons
}

// Run evaluates all objects of the feed, like Judge.Run. The result has the decisions of the input's rules, and the changes.
// Failures of the rules in force are not in the result.
func (c *Comparison) Run(ctx context.Context, feed Feed) (*Result, error) {
	var hearings []*comparer
	err := distribute(ctx, c.shown.after.Compiler, feed, func(e *engine.Evaluator) objectFunc {
		h := c.newComparer(e)
		hearings = append(hearings, h)
		return h.judge
	})
	if err != nil {
		return nil, err
	}
	shown := make([]*workerPair, len(hearings))
	beyond := make([]*workerPair, len(hearings))
	for i, h := range hearings {
		shown[i], beyond[i] = h.shown, h.beyond
	}
	result, changes := c.shown.result(shown)
	_, more := c.beyond.result(beyond)
	result.Compared = true
	result.Changes = slices.DeleteFunc(append(changes, more...), c.uncompared)
	sortChanges(result.Changes)
	return result, nil
}

func (c *Comparison) uncompared(change Change) bool {
	return c.otherVersions.Has(policy.StoredAs(schema.FromAPIVersionAndKind(change.APIVersion, change.Kind)))
}

func (v judgePair) result(pairs []*workerPair) (*Result, []Change) {
	var before, after []*results
	for _, p := range pairs {
		before, after = append(before, p.before.results), append(after, p.after.results)
	}
	result := v.after.result(after)
	return result, compare(v.before.result(before).Rows, result.Rows, result.At)
}

func (v judgePair) newWorkers(e *engine.Evaluator) *workerPair {
	return &workerPair{before: v.before.newWorker(e), after: v.after.newWorker(e)}
}

// comparer compares in one goroutine.
type comparer struct{ shown, beyond *workerPair }

func (c *Comparison) newComparer(e *engine.Evaluator) *comparer {
	h := &comparer{c.shown.newWorkers(e), c.beyond.newWorkers(e)}
	h.beyond.hidden = true
	return h
}

func (h *comparer) judge(object map[string]any) {
	h.shown.judge(object)
	h.beyond.judge(object)
}

// workerPair evaluates an object twice. It stores a row of the rules in force only if the decision changes.
type workerPair struct {
	before, after *worker
	hidden        bool // report only changes
}

func (p *workerPair) judge(object map[string]any) {
	was, is := p.before.results, p.after.results
	rowsBefore, rowsAfter := len(was.rows), len(is.rows)
	p.before.judge(object)
	p.after.judge(object)
	was.failures = was.failures[:0]
	if p.hidden {
		is.failures = is.failures[:0]
	}
	if len(was.rows) > rowsBefore && len(is.rows) > rowsAfter {
		p.dropUnchanged(&was.rows[rowsBefore], &is.rows[rowsAfter])
	}
}

// dropUnchanged removes the last rows if the decision does not change.
func (p *workerPair) dropUnchanged(before, after *Row) {
	was, is := p.before.results, p.after.results
	if changeOf(before.Verdict, after.Verdict, is.at) != "" {
		return
	}
	after.unchanged = true
	was.rows = was.rows[:len(was.rows)-1]
	if p.hidden {
		is.rows = is.rows[:len(is.rows)-1]
	}
}
