// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sunset-k8s/sunset/test/expect"
)

// Limits in milliseconds. They are generous, because other tests run at the same time; docs/contributing/playground.md has the times of a
// quiet machine.
const (
	longestEdit  = 10_000 // until the verdicts about 10,000 objects show, after an edit
	longestPause = 1_000  // of the page, while a person types
)

// openMany opens the playground with a file of 10,000 Jobs, as kubectl get writes it.
func openMany(t *testing.T) *tab {
	t.Helper()
	b := openBrowser(t)
	b.open(b.local())
	t.Logf("the first verdicts were there %.0f ms after the page was opened", value[float64](b, `performance.now()`))
	var text strings.Builder
	text.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "- apiVersion: batch/v1\n  kind: Job\n  metadata:\n    name: job-%d\n    namespace: team-%d\n    uid: %d\n    creationTimestamp: 2026-02-%02dT00:00:00Z\n"+
			"    labels: {app: report, batch.kubernetes.io/job-name: job-%d}\n  spec:\n    backoffLimit: 6\n    completions: 1\n    template:\n      spec:\n        restartPolicy: Never\n"+
			"        containers:\n        - {name: main, image: registry.example.com/report:1.2, resources: {requests: {cpu: 100m, memory: 128Mi}}}\n"+
			"  status:\n    succeeded: 1\n    completionTime: 2026-02-%02dT00:10:00Z\n    conditions:\n    - {type: Complete, status: 'True', lastTransitionTime: 2026-02-%02dT00:10:00Z}\n",
			i, i%20, i, 1+i%28, i, 1+i%28, 1+i%28)
	}
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	expect.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
	b.upload(file)
	expect.Equal(t, "status", "1 policy, 10,000 objects, 10,000 verdicts", b.status())
	return b
}

// timed returns how long it takes until the page shows the result of an action, in milliseconds.
func (b *tab) timed(action string) float64 {
	b.t.Helper()
	return value[float64](b, `new Promise((done) => {
		const results = document.getElementById("results"), from = performance.now();
		const seen = new MutationObserver(() => { if (results.getAttribute("aria-busy") === "false") { seen.disconnect(); done(performance.now() - from); } });
		seen.observe(results, { attributes: true });
		`+action+`
	})`)
}

// TestPageJudgesTenThousandObjects edits the policy and changes the time. The pause after the last key is part of the time.
func TestPageJudgesTenThousandObjects(t *testing.T) {
	onlyLong(t)
	b := openMany(t)
	b.run(`document.querySelector("#policies .cm-content").focus()`)
	due := func() string { return value[string](b, `document.querySelector("#verdicts tbody .due").textContent`) }
	for i := range 3 {
		expect.NoError(t, chromedp.Do(b.ctx, chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))) // selects the text
		policy := fmt.Sprintf("apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: edited}\nspec:\n  rules:\n"+
			"  - {name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object) && object.spec.backoffLimit > %d, startTime: finishedAt(object), ttl: %dd}\n", i, i+2)
		before := due()
		took := b.timed(`const data = new DataTransfer();
			data.setData("text/plain", ` + quote(policy) + `);
			document.querySelector("#policies .cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));`)
		t.Logf("after an edit of the policy, the verdicts about 10,000 objects took %.0f ms", took)
		if took > longestEdit {
			t.Errorf("an edit took %.0f ms, more than %d", took, longestEdit)
		}
		expect.Equal(t, "status", "1 policy, 10,000 objects, 10,000 verdicts", b.status())
		if due() == before {
			t.Errorf("the first verdict is still due at %s", before)
		}
	}
	took := b.timed(`const time = document.getElementById("time");
		time.value = "2026-02-20T00:00:00Z";
		time.dispatchEvent(new Event("change"));`)
	t.Logf("after a change of the time, the verdicts about 10,000 objects took %.0f ms", took)
	if value[int](b, `document.querySelectorAll("#verdicts tbody tr").length`) != 200 {
		t.Error("the table does not show the first 200 rows")
	}
}

// TestTypingDoesNotWait types with 10,000 objects, while the engine evaluates them after each pause.
func TestTypingDoesNotWait(t *testing.T) {
	onlyLong(t)
	b := openMany(t)
	b.run(`(() => {
		document.querySelector("#policies .cm-content").focus();
		window.tasks = [];
		window.keys = [];
		new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
		new PerformanceObserver((list) => keys.push(...list.getEntries().map((e) => e.duration))).observe({ type: "event", durationThreshold: 16 });
	})()`)
	b.press(kb.End, " ")
	for range 20 {
		b.press("# word")
		b.run(`new Promise((done) => setTimeout(done, 200))`) // longer than the pause after which the page evaluates
	}
	b.settle()
	got := value[[]float64](b, `[tasks.length, Math.max(0, ...tasks), Math.max(0, ...keys)]`)
	t.Logf("120 keys with 10,000 objects: %.0f tasks of more than 50 ms, the longest %.0f ms; the slowest key %.0f ms", got[0], got[1], got[2])
	if longest := max(got[1], got[2]); longest > longestPause {
		t.Errorf("the page does not react for %.0f ms, more than %d", longest, longestPause)
	}
	if text := value[string](b, `document.querySelector("#policies .cm-content").textContent`); strings.Count(text, "# word") != 20 {
		t.Errorf("the editor has lost keys: %.300s", text)
	}
}
