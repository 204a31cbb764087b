// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// metric returns the sum of the samples of a metric.
func metric(t *testing.T, name string) (sum float64) {
	t.Helper()
	for sample, value := range scrape.Of(t, registry.Registry) {
		if of, _, _ := strings.Cut(sample, " "); of == name {
			sum += value
		}
	}
	return sum
}

// TestBacklogIsWhatShouldBeDeleted: an alert compares it with the deletions.
func TestBacklogIsWhatShouldBeDeleted(t *testing.T) {
	limited := func(p *policy.Policy) { p.Ledger, p.Limits = true, &policy.Limits{Max: 3, Window: time.Hour} }
	for name, test := range map[string]struct {
		change  func(p *policy.Policy)
		state   ledgers.State
		backlog float64
	}{
		"due": {func(*policy.Policy) {}, ledgers.State{}, 5},
		"above a capacity": {func(p *policy.Policy) {
			p.Rules[0].TTL, p.Rules[0].Capacity = 100*policy.Day, policy.Capacity{Bounded: true, Max: 2}
		}, ledgers.State{}, 4},
		"a dry run":                    {func(p *policy.Policy) { p.Mode, p.Rules[0].Mode = v1alpha1.DryRun, v1alpha1.DryRun }, ledgers.State{}, 0},
		"some wait because of limits":  {limited, ledgers.State{Charged: 3, Waiting: 4}, 1},
		"some wait, and limits permit": {limited, ledgers.State{Charged: 2, Waiting: 4}, 5},
	} {
		runInBubble(t, name, func(w *harness) {
			p := policyOf(v1alpha1.Enforce, rule("a"))
			test.change(p)
			e := w.create(p, noStatus)
			w.ledgers[p.UID] = test.state
			w.kinds = []retention.KindState{kindOf(e, w.began, backlog(5, w.began)...)}
		}, func(t *testing.T, _ *harness) {
			bubble.Pass(10 * time.Second)
			expect.Equal(t, "backlog", test.backlog, metric(t, "sunset_backlog"))
		})
	}
}

// TestKindIsUnavailableOnlyForRulesThatDelete: a dry run needs no permission to delete.
func TestKindIsUnavailableOnlyForRulesThatDelete(t *testing.T) {
	for mode, unavailable := range map[v1alpha1.Mode]float64{v1alpha1.Enforce: 1, v1alpha1.DryRun: 0, v1alpha1.Suspend: 0} {
		runInBubble(t, string(mode), func(w *harness) {
			p := policyOf(mode, rule("a", func(r *policy.Rule) { r.Mode = mode }))
			k := kindOf(w.create(p, noStatus), w.began)
			k.Undeletable = &retention.SourceError{Reason: "Forbidden"}
			w.kinds = []retention.KindState{k}
		}, func(t *testing.T, _ *harness) {
			bubble.Pass(10 * time.Second)
			expect.Equal(t, "unavailable", unavailable, metric(t, "sunset_kind_unavailable"))
		})
	}
}
