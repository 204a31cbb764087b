package report

import (
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// gauges collects what one count found, so that the exported gauges change in one go.
type gauges struct {
	set []func()
}

func newGauges() *gauges { return &gauges{} }

func (g *gauges) kind(k retention.KindState, reasons map[policy.Reason]int64) {
	name := k.Index.Kind().String()
	size, _ := k.Index.Len()
	g.set = append(g.set, func() {
		metrics.IndexSize.WithLabelValues(name).Set(float64(size))
		for reason, n := range reasons {
			metrics.Verdicts.WithLabelValues(name, string(reason)).Set(float64(n))
		}
		for _, trouble := range []*retention.Trouble{k.Lost, k.Undeletable} {
			if trouble != nil {
				metrics.KindTrouble.WithLabelValues(name, trouble.Reason).Set(1)
			}
		}
	})
}

func (g *gauges) rules(t *policy.Tallies) {
	for name, tally := range t.Policies {
		for rule, counts := range tally.Rules {
			g.set = append(g.set, func() {
				for state, n := range map[string]int64{
					"matched": counts.Matched, "eligible": counts.Eligible, "held": counts.Held,
					"error": counts.Errors, "due": counts.Due.Now,
				} {
					metrics.Subjects.WithLabelValues(name, rule, state).Set(float64(n))
				}
			})
		}
	}
}

// publish replaces what was exported; what is no longer counted disappears.
func (g *gauges) publish(backlog int) {
	metrics.IndexSize.Reset()
	metrics.Verdicts.Reset()
	metrics.Subjects.Reset()
	metrics.KindTrouble.Reset()
	for _, set := range g.set {
		set()
	}
	metrics.Backlog.Set(float64(backlog))
}
