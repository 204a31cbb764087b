package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Comparison judges each object twice in one go: by the rules asked about, and by the rules in force. It is immutable
// and safe for concurrent use.
type Comparison struct {
	shown  versus // the kinds asked about: their verdicts are the answer
	beyond versus // kinds that only the rules to be replaced are about: of them only changes are told
	unlike sets.Set[schema.GroupKind]
}

// versus is two judges about the same kinds.
type versus struct{ before, after *Judge }

// InForce is what is compared with.
type InForce struct {
	Policies []*policy.Policy
	Referred *Referred // as these policies declare it
}

// NewComparison makes a Comparison. The input is what is asked about, and must name its kinds; beyond are kinds that are
// compared too. The arguments must not change any more.
func NewComparison(in Input, inForce InForce, beyond sets.Set[schema.GroupKind]) *Comparison {
	after := New(in)
	in.Policies, in.Referred = inForce.Policies, inForce.Referred
	before := New(in)
	c := &Comparison{unlike: sets.New[schema.GroupKind]()}
	for kind := range in.Kinds.Union(beyond) {
		was, is := before.places.snapshot.Version(kind), after.places.snapshot.Version(kind)
		if !was.Empty() && !is.Empty() && was != is {
			c.unlike.Insert(kind)
		}
	}
	c.shown = versus{before, after}
	more := beyond.Difference(in.Kinds).Difference(c.unlike)
	c.beyond = versus{before.only(more), after.only(more)}
	return c
}

// only is the same judge for other kinds.
func (j *Judge) only(kinds sets.Set[schema.GroupKind]) *Judge {
	other := *j
	other.Kinds = kinds
	return &other
}

// Targets are the kinds that rules of either side are about, each as it is to be read.
func (c *Comparison) Targets() []schema.GroupVersionKind {
	targets := c.shown.targets()
	return append(targets, c.beyond.targets()...)
}

func (v versus) targets() []schema.GroupVersionKind {
	targets := v.after.Targets()
	for _, target := range v.before.Targets() {
		kind := policy.StoredAs(target)
		i := slices.IndexFunc(targets, func(t schema.GroupVersionKind) bool { return policy.StoredAs(t) == kind })
		switch {
		case i < 0:
			targets = append(targets, target)
		case v.after.places.snapshot.Version(kind).Empty():
			targets[i] = target // the rules asked about keep the kind at any version
		}
	}
	return targets
}

// RulesOf are the rules of both sides about a kind.
func (c *Comparison) RulesOf(kind schema.GroupKind) []*policy.Rule {
	return slices.Concat(c.shown.after.RulesOf(kind), c.shown.before.RulesOf(kind))
}

// Ranks reports whether the verdict on an object of a kind depends on others by the rules of either side.
func (c *Comparison) Ranks(kind schema.GroupKind) (ranks, everywhere bool) {
	was, wasEverywhere := c.shown.before.Ranks(kind)
	is, isEverywhere := c.shown.after.Ranks(kind)
	return was || is, wasEverywhere || isEverywhere
}

// Uncompared says, of each kind that cannot be compared, why: an object is read at one version only. Its objects are
// judged by the rules asked about, and have no changes.
func (c *Comparison) Uncompared() []string {
	var reasons []string
	for kind := range c.unlike {
		was, is := c.shown.before.places.snapshot.Version(kind), c.shown.after.places.snapshot.Version(kind)
		reasons = append(reasons, fmt.Sprintf("%s is not compared: the rules in force read it at %s, those of the files at %s",
			kind, was.GroupVersion(), is.GroupVersion()))
	}
	slices.SortFunc(reasons, strings.Compare)
	return reasons
}

// Run judges all that the feed gives, like Judge.Run. The result is that of the rules asked about, with the changes; what
// the rules in force cannot judge is not among its failures.
func (c *Comparison) Run(ctx context.Context, feed Feed) (*Result, error) {
	var hearings []*hearing
	err := spread(ctx, c.shown.after.Compiler, feed, func(e *engine.Evaluator) worker {
		h := c.hearing(e)
		hearings = append(hearings, h)
		return h.judge
	})
	if err != nil {
		return nil, err
	}
	shown := make([]*pair, len(hearings))
	beyond := make([]*pair, len(hearings))
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
	return c.unlike.Has(policy.StoredAs(schema.FromAPIVersionAndKind(change.APIVersion, change.Kind)))
}

func (v versus) result(pairs []*pair) (*Result, []Change) {
	var before, after []*sheet
	for _, p := range pairs {
		before, after = append(before, p.before.sheet), append(after, p.after.sheet)
	}
	result := v.after.result(after)
	return result, compare(v.before.result(before).Rows, result.Rows, result.At)
}

func (v versus) hire(e *engine.Evaluator) *pair {
	return &pair{before: v.before.bench(e), after: v.after.bench(e)}
}

// hearing is where one goroutine compares.
type hearing struct{ shown, beyond *pair }

func (c *Comparison) hearing(e *engine.Evaluator) *hearing {
	h := &hearing{c.shown.hire(e), c.beyond.hire(e)}
	h.beyond.hidden = true
	return h
}

func (h *hearing) judge(object map[string]any) {
	h.shown.judge(object)
	h.beyond.judge(object)
}

// pair judges an object twice. It holds a row of the rules in force only where something changes.
type pair struct {
	before, after *bench
	hidden        bool // nothing is told but changes
}

func (p *pair) judge(object map[string]any) {
	was, is := p.before.sheet, p.after.sheet
	rowsBefore, rowsAfter := len(was.rows), len(is.rows)
	p.before.judge(object)
	p.after.judge(object)
	was.failures = was.failures[:0]
	if p.hidden {
		is.failures = is.failures[:0]
	}
	if len(was.rows) > rowsBefore && len(is.rows) > rowsAfter {
		p.settle(&was.rows[rowsBefore], &is.rows[rowsAfter])
	}
}

// settle lets go of the last rows where nothing changes.
func (p *pair) settle(before, after *Row) {
	was, is := p.before.sheet, p.after.sheet
	if changeOf(before.Verdict, after.Verdict, is.at) != "" {
		return
	}
	after.unchanged = true
	was.rows = was.rows[:len(was.rows)-1]
	if p.hidden {
		is.rows = is.rows[:len(is.rows)-1]
	}
}
