// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// generation returns the generation of the policy in the NodeImageRules; 0 if there is none.
func (w *harness) generation() int64 {
	w.t.Helper()
	if rules := w.rules(); rules != nil && len(rules.Policies) == 1 {
		return rules.Policies[0].Generation
	}
	return 0
}

func TestNodesAreToldWithinASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		w.use(about("Image", 1))
		bubble.Pass(0)
		if w.generation() != 1 {
			t.Error("not written at once")
		}
		for n := range int64(20) { // edits, ten a second
			w.use(about("Image", 2+n))
			bubble.Pass(100 * time.Millisecond)
		}
		bubble.Pass(time.Second)
		if got, n := w.generation(), w.written(); got != 21 || n > 5 {
			t.Errorf("generation %d after %d writes", got, n)
		}
		before := w.written()
		w.use(about("Image", 21))
		bubble.Pass(time.Hour)
		expect.Equal(t, "writes without a change", 0, w.written()-before)
	})
}

func TestRulePublisherIgnoresOtherKinds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		w.use(about("Job", 1))
		bubble.Pass(time.Hour)
		if w.rules() != nil || w.written() > 0 {
			t.Error("written")
		}
		w.use(about("Image", 2))
		bubble.Pass(time.Second)
		w.use(about("Job", 3))
		bubble.Pass(2 * time.Second)
		if rules := w.rules(); rules == nil || len(rules.Policies)+len(rules.Known) > 0 {
			t.Errorf("the rules still are %+v", rules)
		}
		bubble.Pass(time.Hour)
		expect.Equal(t, "writes", 2, w.written())
	})
}

func TestRulePublisherRevertsChangesByOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		w.use(about("Image", 1))
		bubble.Pass(time.Minute)
		spoilt := w.rules()
		spoilt.Policies[0].Spec.Rules[0].TTL = "1s"
		expect.NoError(t, w.server.Update(t.Context(), spoilt))
		bubble.Pass(time.Second)
		expect.Equal(t, "ttl", "30d", w.rules().Policies[0].Spec.Rules[0].TTL)
		expect.NoError(t, w.server.Delete(t.Context(), w.rules()))
		bubble.Pass(time.Second)
		if w.generation() != 1 {
			t.Error("the object was not created again")
		}
	})
}

func TestRulePublisherWritesOnlyAsLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		w.follows = true
		w.use(about("Image", 1))
		bubble.Pass(time.Second)
		if w.written() > 0 || w.publisher.Unwritten() == nil || !w.publisher.NeedLeaderElection() || !w.collector.NeedLeaderElection() {
			t.Error("written by a process that is not the leader, or the error is missing")
		}
		w.set(func() { w.follows = false })
		bubble.Pass(5 * time.Second)
		if w.generation() != 1 || w.publisher.Unwritten() != nil || w.changed != 2 {
			t.Errorf("error %v, %d changes", w.publisher.Unwritten(), w.changed)
		}
	})
}

func TestUnwrittenUntilTheErrorEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		w.fail = errors.New("no")
		w.use(about("Image", 1))
		bubble.Pass(time.Minute)
		if err := w.publisher.Unwritten(); err == nil || !strings.Contains(err.Error(), "no") {
			t.Errorf("error: %v", err)
		}
		if w.reads > 60/2 {
			t.Errorf("tried %d times in a minute", w.reads)
		}
		w.set(func() { w.fail = nil })
		bubble.Pass(5 * time.Second)
		if w.publisher.Unwritten() != nil || w.generation() != 1 {
			t.Errorf("error: %v", w.publisher.Unwritten())
		}
	})
}

func TestRuleThatDoesNotFitIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		long := about("Image", 1)
		long.Variables = []v1alpha1.Variable{{Name: "long", Expression: strings.Repeat("x", agentapi.MaxBytes)}}
		w.use(long)
		bubble.Pass(time.Second)
		if !w.publisher.Missing("uid-p") || w.rules().Policies[0].Hash != agentapi.LeftOut {
			t.Error("the policy was not left out")
		}
		w.use(about("Image", 2))
		bubble.Pass(time.Second)
		if w.publisher.Missing("uid-p") || w.changed != 2 {
			t.Errorf("the policy is still left out, or %d changes", w.changed)
		}
	})
}

// TestRenderSubstitutesInvalidRules: agents receive a substitute for an invalid rule, which is invalid for them too.
func TestRenderSubstitutesInvalidRules(t *testing.T) {
	invalid := about("Image", 1)
	invalid.AddProblems(policy.Problem{Path: "spec.rules[0].unheardOf", Message: "unknown field"})
	compiler := fixture.Compiler(t)
	for name, most := range map[string]int{"an invalid rule": agentapi.MaxBytes, "a rule that does not fit": 0} {
		t.Run(name, func(t *testing.T) {
			told := agentapi.Render(policy.NewSnapshot([]*policy.Policy{invalid}, nil, policy.DefaultProtection()), most).Policies[0]
			text, err := json.Marshal(v1alpha1.ClusterRetentionPolicy{Spec: told.Spec})
			expect.NoError(t, err)
			document, err := policy.Parse(text)
			expect.NoError(t, err)
			p := document.Load(policy.DefaultProtection())
			compiler.Load(p)
			if len(p.Rules) != 1 || !p.Rules[0].Invalid() || !p.Rules[0].OnNodes() || p.Mode != v1alpha1.Enforce {
				t.Errorf("loaded as %+v", p.Rules[0])
			}
		})
	}
}

func TestReportsAreFollowedWhileThereAreRules(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		p := about("Image", 1)
		report := func(name string, images int64) *v1alpha1.NodeImageReport {
			r := &v1alpha1.NodeImageReport{Policies: []v1alpha1.NodeImagePolicyReport{{UID: p.UID, Generation: 1, Hash: p.Hash, Matched: images}}}
			r.Name, r.ObservedTime.Time = name, time.Now()
			return r
		}
		a, b := report("a", 3), report("b", 4)
		for _, r := range []client.Object{a, b} {
			expect.NoError(t, w.server.Create(t.Context(), r))
		}
		images := func() int64 {
			bubble.Pass(15 * time.Second)
			sums, read := w.collector.Sum([]*policy.Policy{p}, nil, time.Now())
			if !read {
				return -1
			}
			return sums.Policies[p.UID].Status.Images
		}
		expect.Equal(t, "images before there are rules about them", -1, images())
		w.use(p)
		expect.Equal(t, "images", int64(7), images())
		before := w.collector.Version()
		a.Policies[0].Matched = 10
		expect.NoError(t, w.server.Update(t.Context(), a))
		if got := images(); got != 14 || w.collector.Version() == before {
			t.Errorf("%d images", got)
		}
		expect.NoError(t, w.server.Delete(t.Context(), b))
		expect.Equal(t, "images", 10, images())
		w.use(about("Job", 2))
		expect.Equal(t, "images after the rules were deleted", -1, images())
	})
}

// TestReportsThatCannotBeReadAreReadAgain: the error is cleared as soon as the reports are read.
func TestReportsThatCannotBeReadAreReadAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *harness) {
		p := about("Image", 1)
		for reason, err := range map[string]error{
			"Forbidden":  apierrors.NewForbidden(schema.GroupResource{}, "", nil),
			"ListFailed": errors.New("connection refused"),
		} {
			w.set(func() { w.unread = err })
			w.use(p)
			bubble.Pass(time.Minute)
			trouble := w.collector.Unread()
			if _, read := w.collector.Sum([]*policy.Policy{p}, nil, time.Now()); read || trouble == nil || trouble.Reason != reason {
				t.Errorf("%s: error %+v, read %v", reason, trouble, read)
			}
			w.set(func() { w.unread = nil })
			bubble.Pass(15 * time.Second)
			if _, read := w.collector.Sum([]*policy.Policy{p}, nil, time.Now()); !read || w.collector.Unread() != nil {
				t.Errorf("%s: error %+v afterwards, read %v", reason, w.collector.Unread(), read)
			}
			w.use(about("Job", 2))
			bubble.Pass(time.Second)
		}
	})
}
