package report

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// gauges collects what one count found.
type gauges struct {
	count   []prometheus.Metric
	backlog int64
}

func (g *gauges) kind(k retention.KindState, reasons map[policy.Reason]int64) {
	name := k.Index.Kind().String()
	size, _ := k.Index.Len()
	g.count = append(g.count, metrics.IndexSize.Of(float64(size), name))
	for reason, n := range reasons {
		g.count = append(g.count, metrics.Verdicts.Of(float64(n), name, string(reason)))
	}
	g.backlog += reasons[policy.Expired]
	if k.Lost != nil {
		g.count = append(g.count, metrics.KindTrouble.Of(1, name, k.Lost.Reason))
	}
	if k.Undeletable != nil && (k.Lost == nil || k.Lost.Reason != k.Undeletable.Reason) {
		g.count = append(g.count, metrics.KindTrouble.Of(1, name, k.Undeletable.Reason))
	}
}

func (g *gauges) rules(t *policy.Tallies) {
	for name, tally := range t.Policies {
		for rule, c := range tally.Rules {
			for state, n := range map[string]int64{
				"matched": c.Matched, "eligible": c.Eligible, "held": c.Held, "error": c.Errors, "due": c.Due.Now,
			} {
				g.count = append(g.count, metrics.Subjects.Of(float64(n), name, rule, state))
			}
		}
	}
}

// lingering is exported once Pods are watched, zeros included: that nothing leaks has to show.
func (g *gauges) lingering(l policy.Lingering) {
	for state, n := range map[string]int64{"due": l.Due, "overdue": l.Overdue, "terminating": l.Terminating} {
		g.count = append(g.count, metrics.Uncounted.Of(float64(n), state))
	}
}

// publish puts the count in place of the last one.
func (g *gauges) publish() {
	metrics.Counted.Set(append(g.count, metrics.Backlog.Of(float64(g.backlog))))
}
