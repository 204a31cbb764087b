// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// nowhere is a configuration without an API server.
var nowhere = &rest.Config{Host: "http://127.0.0.1:1"}

// exported returns the labels of every metric that a controller or an agent exports, by name.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	_, err := manager.NewManager(manager.Config{
		Rest: nowhere, Clock: clock.RealClock{}, Identity: "me", Election: manager.Election{Enabled: true},
		Protection: policy.DefaultProtection(), MetricsAddress: "0", ProbeAddress: "0",
	})
	expect.NoError(t, err)
	touch()
	ofAgent := prometheus.NewRegistry()
	if err := agent.Run(t.Context(), agent.Config{
		Rest: nowhere, Clock: clock.RealClock{}, Node: "worker-1", Endpoint: "unix:///nowhere.sock", StateDir: t.TempDir(),
		MetricsAddress: "0", ProbeAddress: "0", Metrics: ofAgent,
	}); err == nil || !strings.Contains(err.Error(), "cannot reach the API server") {
		t.Fatalf("the agent: %v", err)
	}
	all := map[string][]string{}
	for _, r := range []prometheus.Gatherer{registry.Registry, ofAgent} {
		add(t, all, r)
	}
	return all
}

// touch counts a deletion, like the controller.
func touch() {
	w := metrics.Observer{Next: nobody{}}
	w.Attempted(retention.Removed)
	w.Removed(retention.Removal{
		Kind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Rule: &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}},
		Reason: policy.Expired, At: time.Unix(1, 0), Due: time.Unix(0, 0),
	})
}

type nobody struct{}

func (nobody) Removed(retention.Removal)  {}
func (nobody) Attempted(retention.Result) {}

// described matches a registry's description of a metric, with or without samples.
var described = regexp.MustCompile(`fqName: "(\w+)".* variableLabels: \{(.*?)\}`)

// add adds the metrics of a registry, and the sampled series of histograms.
func add(t *testing.T, to map[string][]string, r prometheus.Gatherer) {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		r.(prometheus.Collector).Describe(descriptions)
	}()
	for d := range descriptions {
		if match := described.FindStringSubmatch(d.String()); match != nil {
			to[match[1]] = strings.FieldsFunc(match[2], func(r rune) bool { return r == ',' })
		}
	}
	families, err := r.Gather()
	expect.NoError(t, err)
	for _, f := range families {
		if name := f.GetName(); f.GetMetric()[0].GetHistogram() != nil {
			to[name+"_bucket"] = append([]string{"le"}, to[name]...)
			to[name+"_sum"], to[name+"_count"] = to[name], to[name]
			delete(to, name)
		}
	}
}
