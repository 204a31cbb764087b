// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestAlertsFire tests each alert with synthetic series, and runs the other tests of the module that pins Prometheus.
// -count=1 is necessary because go test does not notice changes of the alerts, which are outside of that module.
func TestAlertsFire(t *testing.T) { pinned(t, nil, "test", "-count=1", "./...") }

// TestAlertsSayWhatToDo: each alert has a severity, a description, and a link to its section in the runbook.
func TestAlertsSayWhatToDo(t *testing.T) {
	data, err := os.ReadFile("../../docs/operations/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	const at = "https://github.com/sunset-k8s/sunset/blob/main/docs/operations/runbook.md#"
	known := map[string]bool{}
	for _, r := range rules(t) {
		known[r.Alert] = true
		if url := r.Annotations["runbook_url"]; url != at+strings.ToLower(r.Alert) {
			t.Errorf("%s links to %q", r.Alert, url)
		}
		if !strings.Contains(string(data), "\n### "+r.Alert+"\n") {
			t.Errorf("docs/operations/runbook.md has no heading %s", r.Alert)
		}
		if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s lacks a severity, a summary or a description", r.Alert)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (Sunset\w+)$`).FindAllStringSubmatch(string(data), -1) {
		if !known[heading[1]] {
			t.Errorf("docs/operations/runbook.md has %s, which is not an alert", heading[1])
		}
	}
}
