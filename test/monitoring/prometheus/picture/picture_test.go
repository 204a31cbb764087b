// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// drawn is the picture of panels with series that have a value every 5 seconds.
func drawn(t *testing.T, panels, recorded string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	dashboard, series := filepath.Join(dir, "dashboard.json"), filepath.Join(dir, "series")
	for name, text := range map[string]string{dashboard: `{"title": "T", "panels": [` + panels + `]}`, series: "# every 5s\n" + recorded} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return picture(dashboard, series)
}

func TestPanels(t *testing.T) {
	const at = `"gridPos": {"x": 0, "y": 0, "w": 8, "h": 8}`
	const series = `a{of="x"} 0+5x60
b{of="<y>"} 7x60
h_bucket{le="1"} 0+1x60
h_bucket{le="+Inf"} 0+4x60
gone 5x10 stale _x49`
	for name, test := range map[string]struct {
		panel string
		wants []string
	}{
		"a number":      {`"type": "stat", "targets": [{"expr": "sum(b)"}], "fieldConfig": {"defaults": {"unit": "s", "thresholds": {"steps": [{"color": "green"}, {"color": "red", "value": 5}]}}}`, []string{">7 s<", "fill:#C4162A"}},
		"no number":     {`"type": "stat", "targets": [{"expr": "gone"}], "fieldConfig": {"defaults": {"noValue": "none"}}`, []string{">none<"}},
		"a rate":        {`"type": "timeseries", "targets": [{"expr": "rate(a[$__rate_interval])", "legendFormat": "of {{of}}"}], "fieldConfig": {"defaults": {"unit": "ops"}}`, []string{">of x<", ">1 ops/s<", ">5 min<"}},
		"escaped text":  {`"type": "timeseries", "targets": [{"expr": "b", "legendFormat": "{{of}}"}]`, []string{">&lt;y&gt;<"}},
		"stacked lines": {`"type": "timeseries", "targets": [{"expr": "b"}, {"expr": "b"}], "fieldConfig": {"defaults": {"custom": {"stacking": {"mode": "normal"}}}}`, []string{">15<"}},
		"no data":       {`"type": "timeseries", "targets": [{"expr": "nothing"}]`, []string{">No data<"}},
		"a heatmap":     {`"type": "heatmap", "targets": [{"expr": "sum by (le) (increase(h_bucket[$__rate_interval]))"}]`, []string{">1 s<", ">more<", ">darkest: 12<"}},
		"a table":       {`"type": "table", "targets": [{"expr": "max by (of) (a)"}]`, []string{">of<", ">x<"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := drawn(t, `{"title": "P", `+at+`, `+test.panel+`}`, series)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range append(test.wants, ">P<", "Not a screenshot of Grafana") {
				if !strings.Contains(got, want) {
					t.Errorf("%s is not in\n%s", want, got)
				}
			}
		})
	}
	if _, err := drawn(t, `{"type": "geomap", `+at+`, "targets": [{"expr": "a"}]}`, series); err == nil {
		t.Error("a panel of an unsupported type is no error")
	}
	if _, err := drawn(t, `{"type": "stat", `+at+`, "targets": [{"expr": "sum("}]}`, series); err == nil {
		t.Error("an invalid query is no error")
	}
}

func TestUnits(t *testing.T) {
	for want, got := range map[string]string{
		"1.5 K": format(1500, "short"), "0": format(0, "short"), "12": format(12, "short"), "0.125": format(0.125, "short"),
		"2.5K ops/s": format(2500, "ops"), "3 req/s": format(3, "reqps"), "50%": format(0.5, "percentunit"), "1 KiB/s": format(1024, "Bps"),
		"250 ms": seconds(0.25), "2 min": seconds(120), "24 hour": seconds(86400), "90 µs": seconds(0.00009), "3 min": minutes(3 * time.Minute),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for top, want := range map[float64]float64{8: 2, 1: 0.5, 330: 100, 1.9: 0.5, 4: 1} {
		if got := nice(top, 4); got != want {
			t.Errorf("up to %v in steps of %v, want %v", top, got, want)
		}
	}
}
