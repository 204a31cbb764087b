// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

func count(deleted, gone int64) v1alpha1.LedgerCount {
	return v1alpha1.LedgerCount{Deleted: deleted, Gone: gone}
}

// kept returns a ledger of policy p that counts by outcome.
func kept() *v1alpha1.RetentionLedger {
	l := &v1alpha1.RetentionLedger{
		Total: count(12, 3),
		Rules: []v1alpha1.LedgerRule{
			{Name: "a", LedgerCount: count(9, 2), Outcomes: []v1alpha1.LedgerOutcome{
				{Name: "Succeeded", LedgerCount: count(5, 0)}, {Name: "Failed", LedgerCount: count(1, 2)},
			}},
			{Name: "b", LedgerCount: count(2, 1)},
		},
	}
	l.Name = "uid-p"
	return l
}

// counted arranges a policy p with a ledger.
func counted(state ledgers.State, limits *policy.Limits) func(w *harness) {
	return func(w *harness) {
		p := policyOf(v1alpha1.Enforce, rule("a"), rule("b"))
		p.Ledger, p.Limits = true, limits
		w.ledgers[p.UID] = state
		w.create(p, noStatus)
	}
}

// gathered returns the samples whose names have a prefix, without the prefix, the name of the policy and those of the labels.
func gathered(t *testing.T, prefix string) map[string]float64 {
	t.Helper()
	samples := map[string]float64{}
	for name, value := range scrape.Of(t, registry.Registry) {
		if name, ours := strings.CutPrefix(name, prefix); ours {
			name = regexp.MustCompile(` policy=\S*`).ReplaceAllString(name, "")
			samples[regexp.MustCompile(` \w+=`).ReplaceAllString(name, " ")] = value
		}
	}
	return samples
}

func TestLedgersAreMetrics(t *testing.T) {
	limits := &policy.Limits{Max: 20, Window: time.Hour}
	rest := kept()
	rest.Rules = append(rest.Rules, v1alpha1.LedgerRule{Name: "*", LedgerCount: count(1, 0)})
	tests := map[string]struct {
		state  ledgers.State
		limits *policy.Limits
		want   map[string]float64
	}{
		"by rule, outcome and end; they add up to the total": {ledgers.State{Ledger: kept(), Open: 4, Doubtful: 3}, nil, map[string]float64{
			"open": 4, "doubtful": 3, "waiting": 0, "unavailable": 0,
			"deletions_total deleted Succeeded a": 5, "deletions_total gone Succeeded a": 0,
			"deletions_total deleted Failed a": 1, "deletions_total gone Failed a": 2,
			"deletions_total deleted  a": 3, "deletions_total gone  a": 0,
			"deletions_total deleted  b": 2, "deletions_total gone  b": 1,
			"deletions_total deleted  *": 1, "deletions_total gone  *": 0,
		}},
		"deletions of rules beyond the maximum are part of the rest": {ledgers.State{Ledger: rest}, nil, map[string]float64{
			"open": 0, "doubtful": 0, "waiting": 0, "unavailable": 0,
			"deletions_total deleted Succeeded a": 5, "deletions_total gone Succeeded a": 0,
			"deletions_total deleted Failed a": 1, "deletions_total gone Failed a": 2,
			"deletions_total deleted  a": 3, "deletions_total gone  a": 0,
			"deletions_total deleted  b": 2, "deletions_total gone  b": 1,
			"deletions_total deleted  *": 1, "deletions_total gone  *": 0,
		}},
		"limits": {ledgers.State{Ledger: &v1alpha1.RetentionLedger{}, Charged: 20, Waiting: 7}, limits, map[string]float64{
			"open": 0, "doubtful": 0, "waiting": 7, "unavailable": 0, "charged": 20, "limit": 20,
		}},
		"a ledger that is missing": {ledgers.State{WriteError: ledgers.ErrMissing}, nil, map[string]float64{
			"open": 0, "doubtful": 0, "waiting": 0, "unavailable": 1,
		}},
	}
	for name, test := range tests {
		runInBubble(t, name, counted(test.state, test.limits), func(t *testing.T, w *harness) {
			bubble.Pass(5 * time.Second)
			expect.Equal(t, "gathered", test.want, gathered(t, "sunset_ledger_"))
		})
	}
}

func TestPolicyWithoutALedgerHasNoMetricsOfOne(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "samples", map[string]float64{}, gathered(t, "sunset_ledger_"))
	})
}

func TestStatusSumsTheLedgerUp(t *testing.T) {
	free := time.Date(2000, time.January, 1, 3, 0, 0, 0, time.UTC) // a bubble starts at midnight
	limits := &policy.Limits{Max: 20, Window: time.Hour}
	full := ledgers.State{Ledger: kept(), Open: 4, Charged: 20, FreeAt: free, Waiting: 7}
	inBubble(t, counted(full, limits), func(t *testing.T, w *harness) {
		bubble.Pass(5 * time.Second)
		s := w.status()
		charged := int64(20)
		expect.Equal(t, "ledger", &v1alpha1.LedgerStatus{
			Name: "uid-p", LedgerCount: count(12, 3), Open: 4, Charged: &charged, NextAllowedTime: s.Ledger.NextAllowedTime,
		}, s.Ledger)
		expect.Equal(t, "limited until", free, s.Ledger.NextAllowedTime.UTC())
		expect.Equal(t, "deleted", 12, s.Deleted)
		expect.Equal(t, "deleted by a", 9, s.Rules[0].Deleted)
		expect.Equal(t, "outcomes of a, by name", []v1alpha1.LedgerOutcome{
			{Name: "Failed", LedgerCount: count(1, 2)}, {Name: "Succeeded", LedgerCount: count(5, 0)},
		}, s.Rules[0].Outcomes)
	})
}

func TestLedgerConditions(t *testing.T) {
	free := time.Date(2000, time.January, 1, 3, 0, 0, 0, time.UTC)
	limits := &policy.Limits{Max: 20, Window: time.Hour}
	tests := map[string]struct {
		state  ledgers.State
		limits *policy.Limits
		want   string
		says   string
	}{
		"nothing":                     {ledgers.State{Ledger: kept()}, nil, "True Enforcing", ""},
		"limits, and objects wait":    {ledgers.State{Ledger: kept(), Charged: 20, FreeAt: free, Waiting: 7}, limits, "False LimitReached", "7 objects wait, and Sunset can delete some of them at 2000-01-01T03:00:00Z"},
		"limits, and no object waits": {ledgers.State{Ledger: kept(), Charged: 20, FreeAt: free}, limits, "True Enforcing", ""},
		"an object that cannot be read": {ledgers.State{Ledger: kept(), Doubtful: 3, ReadError: errors.New("Job \"a\" cannot be read: forbidden")}, nil,
			"True EntriesUnread", `3 entries of the RetentionLedger stay open and use up limits, because Sunset cannot read how their deletions ended: Job "a" cannot be read`},
		"an object that cannot be read, and limits": {ledgers.State{Ledger: kept(), Doubtful: 3, ReadError: errors.New("forbidden"), FreeAt: free, Waiting: 1}, limits,
			"False EntriesUnread", "forbidden; grant get on the kind, or make its archive available"},
		"a ledger that cannot be written": {ledgers.State{Ledger: kept(), WriteError: errors.New("no answer")}, nil, "False LedgerUnavailable", "no answer"},
		"a recorded ledger is missing":    {ledgers.State{WriteError: ledgers.ErrMissing}, nil, "False LedgerUnavailable", "does not exist"},
	}
	for name, test := range tests {
		runInBubble(t, name, counted(test.state, test.limits), func(t *testing.T, w *harness) {
			w.set(func() {
				e := compiledOf(policyOf(v1alpha1.Enforce, rule("a")))
				w.kinds = append(w.kinds, kindOf(e, w.began))
			})
			bubble.Pass(10 * time.Second)
			expect.Equal(t, "enforcing", test.want, condition(w.status(), v1alpha1.ConditionEnforcing))
			if said := message(w.status(), v1alpha1.ConditionEnforcing); !strings.Contains(said, test.says) {
				t.Errorf("the message is %q", said)
			}
		})
	}
}

func TestLedgerNotReadIsReported(t *testing.T) {
	known := v1alpha1.RetentionPolicyStatus{
		Deleted: 12, Ledger: &v1alpha1.LedgerStatus{Name: "uid-p", LedgerCount: count(12, 3)},
		Rules: []v1alpha1.RuleStatus{{Name: "a", Outcomes: []v1alpha1.LedgerOutcome{{Name: "Failed", LedgerCount: count(1, 2)}}}},
	}
	arrange := func(w *harness) {
		counted(ledgers.State{}, nil)(w)
		delete(w.ledgers, "uid-p")
		w.server["p"].Status = *known.DeepCopy()
	}
	inBubble(t, arrange, func(t *testing.T, w *harness) {
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "ledger", known.Ledger, w.status().Ledger)
		expect.Equal(t, "outcomes", known.Rules[0].Outcomes, w.status().Rules[0].Outcomes)
		expect.Equal(t, "enforcing", "Unknown LedgerNotRead", condition(w.status(), v1alpha1.ConditionEnforcing))
	})
}

func TestRecordedLedgerStaysRecordedWhileItIsMissing(t *testing.T) {
	arrange := func(w *harness) {
		counted(ledgers.State{WriteError: ledgers.ErrMissing}, nil)(w)
		w.server["p"].Status = v1alpha1.RetentionPolicyStatus{Deleted: 12, Ledger: &v1alpha1.LedgerStatus{Name: "uid-p", LedgerCount: count(12, 3)}}
	}
	inBubble(t, arrange, func(t *testing.T, w *harness) {
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "deleted", 12, w.status().Deleted)
		expect.Equal(t, "ledger", &v1alpha1.LedgerStatus{Name: "uid-p", LedgerCount: count(12, 3)}, w.status().Ledger)
	})
}

func TestLedgerStatusChargedFallsAtEasesAt(t *testing.T) {
	limits := &policy.Limits{Max: 20, Window: time.Hour}
	eases := time.Date(2000, time.January, 1, 0, 30, 0, 0, time.UTC)
	inBubble(t, counted(ledgers.State{Ledger: kept(), Charged: 15, EasesAt: eases}, limits), func(t *testing.T, w *harness) {
		w.set(func() {
			w.kinds = []retention.KindState{kindOf(policyset.CompiledSnapshot{Snapshot: w.snapshot}, time.Now())}
		})
		bubble.Pass(time.Minute)
		w.ledgers["uid-p"] = ledgers.State{Ledger: kept(), Charged: 5}
		bubble.Pass(28 * time.Minute)
		expect.Equal(t, "charged before", 15, *w.status().Ledger.Charged)
		bubble.Pass(2 * time.Minute)
		expect.Equal(t, "charged after", 5, *w.status().Ledger.Charged)
	})
}

// The ledger counts the first deletion when it is next written. If the status had counted it too, then the ledger, raised to the counts
// of the status when the policy keeps it again, would count it twice.
func TestStatusDoesNotCountWhatTheLedgerCounts(t *testing.T) {
	of := func(deleted int64, raised int) ledgers.State {
		l := &v1alpha1.RetentionLedger{Total: count(deleted, 0), Rules: []v1alpha1.LedgerRule{{Name: "a", LedgerCount: count(deleted, 0)}}}
		return ledgers.State{Ledger: l, Rebases: raised}
	}
	recorded := rule("a")
	recorded.Ledger, recorded.PolicyUID = true, "uid-p"
	arrange := func(w *harness) {
		p := policyOf(v1alpha1.Enforce, recorded)
		p.Ledger = true
		w.ledgers[p.UID] = of(7, 0)
		w.create(p, noStatus)
	}
	inBubble(t, arrange, func(t *testing.T, w *harness) {
		is := func(when string, want int64) {
			t.Helper()
			bubble.Pass(5 * time.Second)
			expect.Equal(t, "deleted, "+when, want, w.status().Deleted)
			expect.Equal(t, "deleted by the rule, "+when, want, w.status().Rules[0].Deleted)
		}
		becomes := func(s ledgers.State) { w.set(func() { w.ledgers["uid-p"] = s }); w.Changed() }
		is("by the ledger", 7)
		without := policyOf(v1alpha1.Enforce, rule("a"))
		w.Use(compiledOf(without))
		becomes(of(7, 0))
		w.removed(1, recorded)
		is("with a deletion that the ledger has recorded, and not counted", 7)
		becomes(of(8, 0))
		is("once the ledger has counted it", 8)
		w.removed(2, without.Rules[0])
		is("with two deletions without a ledger", 10)
		becomes(of(9, 0))
		is("with another that the ledger had recorded", 11)
		becomes(of(10, 1)) // kept again, perhaps raised to the status, and not kept again
		is("by both, at least", 11)
		w.removed(1, without.Rules[0])
		is("with another without a ledger", 12)
		with := policyOf(v1alpha1.Enforce, recorded)
		with.Ledger = true
		w.Use(compiledOf(with))
		is("until the ledger has caught up", 12)
		becomes(of(13, 2))
		is("by the ledger that has caught up", 13)
		w.removed(1, without.Rules[0]) // its DELETE was sent before the policy kept the ledger again
		becomes(of(15, 2))
		is("with a late one without a ledger", 16)
	})
}
