package preview

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Case is one object, and what the verdict on it is made of.
type Case struct {
	Kind        schema.GroupKind // as it is stored
	Namespace   policy.Namespace // the object's; zero for a cluster-scoped one
	Subject     policy.Subject   // the object as it is in its namespace
	Verdict     policy.Verdict
	Applying    []*policy.Rule      // of its kind in its namespace
	Evaluations []policy.Evaluation // theirs, with the object's standing; none about a mirror Pod
	Unmarked    []policy.RuleID     // of the evaluations, those whose start is Input.At because nothing marks the object yet
	Rankings    map[policy.RuleID]Ranked
}

// Ranked is the ranking of one rule that the object has a part in.
type Ranked struct {
	Ranking policy.Ranking
	Self    policy.Candidate
	Members []policy.Candidate // all of them, Self included
}

// Case judges one object among its peers: the objects of its kind that Ranks says its verdict depends on, of which feed
// is asked only if it does. An older or newer version of the object may be among them.
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
	c.Subject, c.Applying, c.Evaluations = page.See(self.subject), j.onNode(page.Rules), slices.Clone(self.evaluations)
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

// rankCase gives the object its standing by each rule that ranks.
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

// candidates are those of all that the feed gives, of kinds that rank.
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

// IsUnmarked reports whether the start that a rule gives is not the object's.
func (c *Case) IsUnmarked(id policy.RuleID) bool { return slices.Contains(c.Unmarked, id) }
