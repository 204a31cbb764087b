// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// next is an Observer that records its calls.
type next struct{ told []string }

func (n *next) Removed(r retention.Removal)  { n.told = append(n.told, "removed "+r.Subject.Name) }
func (n *next) Attempted(r retention.Result) { n.told = append(n.told, "attempted "+r.String()) }

// samples are exported values, by `metric label=value ...`.
type samples map[string]float64

// gather returns the samples that Sunset exports.
func gather(t *testing.T) samples {
	t.Helper()
	s := samples(scrape.Of(t, registry.Registry))
	maps.DeleteFunc(s, func(name string, _ float64) bool { return !strings.HasPrefix(name, "sunset_") })
	return s
}

// since returns the increase of each sample.
func (s samples) since(before samples) samples {
	grown := samples{}
	for name, value := range s {
		if by := value - before[name]; by != 0 {
			grown[name] = by
		}
	}
	return grown
}

// expectGrowth compares the increase of the samples since s with want.
func (s samples) expectGrowth(t *testing.T, want samples) {
	t.Helper()
	expect.Equal(t, "exported", want, gather(t).since(s))
}

var (
	now = fixture.Now
)

func removal(policyName, rule string, kind schema.GroupVersionKind, late time.Duration) retention.Removal {
	return retention.Removal{
		Kind:    kind,
		Subject: policy.Subject{Namespace: "team-a", Name: "nightly"},
		Rule:    &policy.Rule{ID: policy.RuleID{Policy: policyName, Rule: rule}},
		Reason:  policy.Expired, Due: now.Add(-late), At: now,
	}
}

func TestObserverCountsAndPassesOn(t *testing.T) {
	before := gather(t)
	n := &next{}
	w := metrics.Observer{Next: n}
	for _, result := range []retention.Result{retention.Changed, retention.Removed, retention.Removed, retention.Removed, retention.Denied} {
		w.Attempted(result)
	}
	w.Removed(removal("p", "r", fixture.Jobs, 250*time.Millisecond))
	w.Removed(removal("p", "r", fixture.Jobs, 500*time.Millisecond))
	w.Removed(removal("other", "r", fixture.Pods, 0))
	expect.Equal(t, "passed on", []string{
		"attempted changed", "attempted removed", "attempted removed", "attempted removed", "attempted denied",
		"removed nightly", "removed nightly", "removed nightly",
	}, n.told)
	before.expectGrowth(t, samples{
		"sunset_deletion_attempts_total result=changed":                        1,
		"sunset_deletion_attempts_total result=denied":                         1,
		"sunset_deletion_attempts_total result=removed":                        3,
		"sunset_deletion_lateness_seconds count":                               3,
		"sunset_deletion_lateness_seconds sum":                                 0.75,
		"sunset_deletions_total kind=Job.batch policy=p reason=Expired rule=r": 2,
		"sunset_deletions_total kind=Pod policy=other reason=Expired rule=r":   1,
	})
}

// TestDeletedBytes: only rules that give sizes have the counters, and costs exist only with prices.
func TestDeletedBytes(t *testing.T) {
	before := gather(t)
	prices, err := policy.ParsePrices("EUR", []string{"Job.batch=2"})
	expect.NoError(t, err)
	for _, w := range []metrics.Observer{{Next: &next{}}, {Next: &next{}, Prices: prices}} {
		sized := removal("sized", "r", fixture.Jobs, 0)
		sized.Rule.Spec.Bytes, sized.Size.Bytes = "object.spec.size", 1<<30
		w.Removed(sized)
		plain := removal("plain", "r", fixture.Jobs, 0)
		plain.Size.Bytes = 1 << 30
		w.Removed(plain)
	}
	grown := gather(t).since(before)
	for name, want := range (samples{
		"sunset_deleted_bytes_total kind=Job.batch policy=sized rule=r":                               2 << 30,
		"sunset_deleted_estimated_monthly_cost_total currency=EUR kind=Job.batch policy=sized rule=r": 2,
		"sunset_deleted_bytes_total kind=Job.batch policy=plain rule=r":                               0,
	}) {
		expect.Equal(t, name, want, grown[name])
	}
	metrics.Forget(func(id policy.RuleID) bool { return id.Policy == "sized" })
	for name := range gather(t) {
		if strings.Contains(name, "policy=sized") {
			t.Errorf("%s still exists", name)
		}
	}
}

func TestPolicyThatIsGoneIsForgotten(t *testing.T) {
	w := metrics.Observer{Next: &next{}}
	w.Removed(removal("gone", "a", fixture.Jobs, 0))
	w.Removed(removal("gone", "b", fixture.Pods, 0))
	notice := retention.SnapshotNotice{Rule: &policy.Rule{ID: policy.RuleID{Policy: "gone", Rule: "c"}}}
	w.Snapshotted(notice)
	notice.Slow = &retention.Delay{}
	w.Snapshotted(notice)
	expect.Equal(t, "snapshots", 1, gather(t)["sunset_volume_snapshots_created_total policy=gone rule=c"])
	w.Removed(removal("stays", "a", fixture.Jobs, 0))
	metrics.Forget(func(id policy.RuleID) bool { return id.Policy == "gone" })
	left := gather(t)
	for name := range left {
		if strings.Contains(name, "policy=gone") {
			t.Errorf("%s still exists", name)
		}
	}
	if _, ok := left["sunset_deletions_total kind=Job.batch policy=stays reason=Expired rule=a"]; !ok {
		t.Errorf("another policy was forgotten: %v", left)
	}
}

func TestCountSetReplacesMetrics(t *testing.T) {
	before := gather(t)
	metrics.Counted.Set([]prometheus.Metric{
		metrics.Backlog.Of(2), metrics.Verdicts.Of(2, "Job.batch", "Expired"), metrics.Subjects.Of(2, "p", "r", "due"),
		metrics.Uncounted.Of(4, "overdue"), metrics.IndexSize.Of(3, "Job.batch"), metrics.KindError.Of(1, "Pod", "Forbidden"),
	})
	before.expectGrowth(t, samples{
		"sunset_backlog":                                    2,
		"sunset_index_objects kind=Job.batch":               3,
		"sunset_kind_unavailable kind=Pod reason=Forbidden": 1,
		"sunset_rule_objects policy=p rule=r state=due":     2,
		"sunset_uncounted_pods state=overdue":               4,
		"sunset_verdicts kind=Job.batch reason=Expired":     2,
	})
	metrics.Counted.Set(nil)
	expect.Equal(t, "samples without a count", before, gather(t))
}

func TestBuildIsExported(t *testing.T) {
	b := version.Get()
	name := fmt.Sprintf("sunset_build_info commit=%s date=%s goversion=%s tzdata=%s version=%s", b.Commit, b.Date, b.Go, b.TZData, b.Version)
	if all := gather(t); all[name] != 1 {
		t.Errorf("%s is %v in %v, want 1", name, all[name], all)
	}
}

// TestPageHasEveryMetric: docs/reference/metrics.md describes every metric with its labels, and no other metric.
func TestPageHasEveryMetric(t *testing.T) {
	data, err := os.ReadFile("../../docs/reference/metrics.md")
	expect.NoError(t, err)
	_, page, _ := strings.Cut(string(data), "\n## sunset-controller\n")
	page, _, _ = strings.Cut(page, "\n## ")
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(sunset_[a-z_]+)` \\| (.+?) \\| .+ \\|$").FindAllStringSubmatch(page, -1) {
		documented[row[1]] = strings.NewReplacer("`", "", " ", "", "—", "").Replace(row[2])
	}
	expect.Equal(t, "docs/reference/metrics.md", registered(), documented)
	for result := retention.Failed; result <= retention.Denied; result++ {
		if !strings.Contains(page, "`"+result.String()+"`") {
			t.Errorf("docs/reference/metrics.md does not describe the result %s", result)
		}
	}
	for _, name := range regexp.MustCompile(`\bsunset_[a-z_]+`).FindAllString(page, -1) {
		if _, ok := documented[name]; !ok {
			t.Errorf("docs/reference/metrics.md mentions %s, which is not in its table", name)
		}
	}
}

// registered returns the labels of every metric of Sunset in controller-runtime's registry, with or without samples.
func registered() map[string]string {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		registry.Registry.(prometheus.Collector).Describe(descriptions)
	}()
	labels := map[string]string{}
	parts := regexp.MustCompile(`fqName: "(sunset_[a-z_]+)".* variableLabels: \{(.*?)\}`)
	for d := range descriptions {
		if match := parts.FindStringSubmatch(d.String()); match != nil {
			labels[match[1]] = match[2]
		}
	}
	return labels
}
