// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Case is one object, and everything that leads to the decision about it.
type Case struct {
	Kind        schema.GroupKind // as it is stored
	Namespace   policy.Namespace // of the object; zero if it is cluster-scoped
	Subject     policy.Subject   // the object with the facts of its namespace
	Verdict     policy.Verdict
	Applying    []*policy.Rule      // the rules for its kind in its namespace
	Evaluations []policy.Evaluation // of these rules, with the object's standing; none for a mirror Pod
	Unmarked    []policy.RuleID     // the rules that count from Input.At because the object has no mark yet
	Rankings    map[policy.RuleID]Ranked
}

// Ranked is the ranking of one rule that includes the object.
type Ranked struct {
	Ranking policy.Ranking
	Self    policy.Candidate
	Members []policy.Candidate // all objects in the ranking, including Self
}

// Case decides about one object. If Ranks reports that the decision depends on other objects of its kind, Case reads them from
// peers. peers may contain another version of the object.
func (j *Judge) Case(ctx context.Context, object map[string]any, peers Feed) (*Case, error) {
	evaluator := j.Compiler.NewEvaluator(ctx)
	defer evaluator.Close()
	w := j.newWorker(evaluator)
	self, evaluated := w.evaluate(object)
	if len(w.results.failures) > 0 {
		return nil, errors.New(w.results.failures[0].Message)
	}
	if !evaluated {
		subject, err := engine.SubjectOf(object)
		if err != nil {
			return nil, err
		}
		self.subject = subject
	}
	c := &Case{Kind: policy.StoredAs(self.kind), Namespace: j.rules.namespace(self.subject.Namespace), Rankings: map[policy.RuleID]Ranked{}}
	page := j.rules.page(c.Kind, self.subject.Namespace)
	c.Subject, c.Applying, c.Evaluations = page.WithHold(self.subject), j.onNode(page.Rules), slices.Clone(self.evaluations)
	self.evaluations = c.Evaluations
	c.Unmarked = w.unmarked
	if ranks, _ := j.Ranks(c.Kind); ranks && evaluated {
		if err := j.rankCase(ctx, c, self, peers); err != nil {
			return nil, err
		}
	}
	c.Verdict = Verdict(c.Subject, c.Evaluations, j.At)
	return c, nil
}

// rankCase sets the object's standing in the ranking of each rule.
func (j *Judge) rankCase(ctx context.Context, c *Case, self candidate, peers Feed) error {
	all, err := j.candidates(ctx, peers)
	if err != nil {
		return err
	}
	ranked := []*candidate{&self}
	for i := range all {
		p := &all[i]
		if p.subject.Name != self.subject.Name || p.subject.Namespace != self.subject.Namespace {
			ranked = append(ranked, p)
		}
	}
	for _, id := range j.rules.snapshot.Ranked(c.Kind) {
		ranking := j.rules.ranking(c.Kind, id)
		rankBy(ranking, id, ranked)
		self, _ := membersOf(id, ranked[:1])
		members, _ := membersOf(id, ranked)
		if len(self) > 0 {
			c.Rankings[id] = Ranked{Ranking: ranking, Self: self[0], Members: members}
		}
	}
	return nil
}

// candidates returns the objects of the feed whose kind is ranked.
func (j *Judge) candidates(ctx context.Context, feed Feed) ([]candidate, error) {
	var workers []*worker
	err := distribute(ctx, j.Compiler, feed, func(e *engine.Evaluator) objectFunc {
		w := j.newWorker(e)
		workers = append(workers, w)
		return w.judge
	})
	var all []candidate
	for _, w := range workers {
		all = append(all, w.results.candidates...)
	}
	return all, err
}

// IsUnmarked reports whether a rule counts from Input.At, because the object has no mark yet.
func (c *Case) IsUnmarked(id policy.RuleID) bool { return slices.Contains(c.Unmarked, id) }
