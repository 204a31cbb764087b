// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// facts are the results of one rule's expressions for one version of one object.
type facts struct {
	eligible bool
	start    time.Time // not before the creation; zero for none
	ttl      time.Duration
	group    string
	err      error // keeps the object; with errUnsupported it is not checked
}

type question struct {
	r        *rule
	s        *history.State
	revision int64 // for references, if the rule reads them
}

func (j *checker) facts(r *rule, s *history.State, revision int64) facts {
	q := question{r: r, s: s}
	if r.compiled.refers() {
		q.revision = revision
	}
	if known, ok := j.known[q]; ok {
		return known
	}
	f, err := j.ask(q)
	f.err = err
	if !f.start.IsZero() {
		f.start = latest(f.start, created(s))
	}
	j.known[q] = f
	return f
}

func (j *checker) ask(q question) (facts, error) {
	a := about{object: seen(q.s), relations: map[string]map[string]any{}}
	for _, name := range q.r.compiled.relations {
		var err error
		if a.relations[name], err = j.relation(name, q.s, q.revision); err != nil {
			return facts{}, err
		}
	}
	return q.r.ask(q.s, a)
}

// ask evaluates the expressions in order. It stops if the object is not eligible.
func (r *rule) ask(s *history.State, a about) (f facts, err error) {
	c := r.compiled
	if c.unknown != nil {
		return f, c.unknown
	}
	value, err := c.ask(c.eligible, a)
	if err != nil {
		return f, err
	}
	if f.eligible, err = boolean(value); err != nil || !f.eligible {
		return f, err
	}
	if _, err := ownTTL(s); err != nil {
		return f, err
	}
	if f.start, err = r.askStart(s, a); err != nil {
		return f, err
	}
	if f.ttl, err = r.askTTL(a); err != nil {
		return f, err
	}
	if c.group != nil {
		if f.group, err = c.askText(c.group, a); err != nil {
			return f, err
		}
	}
	return f, r.askOutcome(a)
}

func (r *rule) askStart(s *history.State, a about) (time.Time, error) {
	if r.compiled.start == nil {
		return markOf(s), nil
	}
	value, err := r.compiled.ask(r.compiled.start, a)
	if err != nil {
		return time.Time{}, err
	}
	return moment(value)
}

func (r *rule) askTTL(a about) (time.Duration, error) {
	switch {
	case r.compiled.ttl != nil:
		value, err := r.compiled.ask(r.compiled.ttl, a)
		if err != nil {
			return 0, err
		}
		return span(value)
	case r.TTL == "":
		return never, nil
	default:
		return duration(r.TTL)
	}
}

func (c *compiled) askText(p cel.Program, a about) (string, error) {
	value, err := c.ask(p, a)
	if err != nil {
		return "", err
	}
	return text(value)
}

const longestOutcome = 63

func (r *rule) askOutcome(a about) error {
	if r.compiled.outcome == nil {
		return nil
	}
	outcome, err := r.compiled.askText(r.compiled.outcome, a)
	if err == nil && len([]rune(outcome)) > longestOutcome {
		err = errors.New("the outcome is too long")
	}
	return err
}

// ownTTL returns the TTL of the object's annotation; nil without one.
func ownTTL(s *history.State) (*time.Duration, error) {
	written, ok := s.GetAnnotations()[v1alpha1.TTLAnnotation]
	if !ok {
		return nil, nil
	}
	ttl, err := duration(written)
	return &ttl, err
}

// markOf returns the earliest mark on an object; zero for none. Only the product knows which rule wrote a mark. wait.go
// checks against the history that the mark is not too early.
func markOf(s *history.State) time.Time {
	var first time.Time
	for _, at := range marksIn(s.GetAnnotations()[v1alpha1.EligibleSinceAnnotation]) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// marksIn returns the marks in an annotation; none if it is invalid.
func marksIn(written string) map[string]time.Time {
	marks := map[string]time.Time{}
	if json.Unmarshal([]byte(written), &marks) != nil {
		return nil
	}
	return marks
}
