package oracle

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// facts are what the expressions of one rule say about one version of one object.
type facts struct {
	eligible bool
	start    time.Time // floored at the creation; zero for none
	ttl      time.Duration
	group    string
	err      error // it keeps the object; errUnknown is not judged
}

type question struct {
	r *rule
	s *history.State
}

func (j *judge) facts(r *rule, s *history.State) facts {
	q := question{r, s}
	if known, ok := j.known[q]; ok {
		return known
	}
	f, err := r.ask(s)
	f.err = err
	if !f.start.IsZero() {
		f.start = latest(f.start, created(s))
	}
	j.known[q] = f
	return f
}

// ask asks the expressions in their order. Of an object that is not eligible nothing else is asked.
func (r *rule) ask(s *history.State) (f facts, err error) {
	c := r.compiled
	if c.unknown != nil {
		return f, c.unknown
	}
	value, err := c.ask(c.eligible, s)
	if err != nil {
		return f, err
	}
	if f.eligible, err = boolean(value); err != nil || !f.eligible {
		return f, err
	}
	if _, err := ownTTL(s); err != nil {
		return f, err
	}
	if f.start, err = r.askStart(s); err != nil {
		return f, err
	}
	if f.ttl, err = r.askTTL(s); err != nil {
		return f, err
	}
	if c.group != nil {
		if f.group, err = c.askText(c.group, s); err != nil {
			return f, err
		}
	}
	return f, r.askOutcome(s)
}

func (r *rule) askStart(s *history.State) (time.Time, error) {
	if r.compiled.start == nil {
		return markOf(s), nil
	}
	value, err := r.compiled.ask(r.compiled.start, s)
	if err != nil {
		return time.Time{}, err
	}
	return moment(value)
}

func (r *rule) askTTL(s *history.State) (time.Duration, error) {
	switch {
	case r.compiled.ttl != nil:
		value, err := r.compiled.ask(r.compiled.ttl, s)
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

func (c *compiled) askText(p cel.Program, s *history.State) (string, error) {
	value, err := c.ask(p, s)
	if err != nil {
		return "", err
	}
	return text(value)
}

const longestOutcome = 63

func (r *rule) askOutcome(s *history.State) error {
	if r.compiled.outcome == nil {
		return nil
	}
	outcome, err := r.compiled.askText(r.compiled.outcome, s)
	if err == nil && len([]rune(outcome)) > longestOutcome {
		err = errors.New("the outcome is too long")
	}
	return err
}

// ownTTL is what the object's annotation says; nil without one.
func ownTTL(s *history.State) (*time.Duration, error) {
	written, ok := s.GetAnnotations()[v1alpha1.TTLAnnotation]
	if !ok {
		return nil, nil
	}
	ttl, err := duration(written)
	return &ttl, err
}

// markOf is the earliest mark on an object; zero without any. Which rule a mark is of only the product knows: that it was
// not written too soon is checked by what the object was before (wait.go).
func markOf(s *history.State) time.Time {
	written := map[string]time.Time{}
	if json.Unmarshal([]byte(s.GetAnnotations()[v1alpha1.EligibleSinceAnnotation]), &written) != nil {
		return time.Time{}
	}
	var first time.Time
	for _, at := range written {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}
