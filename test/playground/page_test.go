// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/cmd/playground"
	"github.com/sunset-k8s/sunset/cmd/playground/site"
	"github.com/sunset-k8s/sunset/test/expect"
)

// largest is how many bytes the page may have with gzip, which every web server knows.
const largest = 5_000_000

// TestPageIsSmall: a browser loads it over a network.
func TestPageIsSmall(t *testing.T) {
	dir, _ := openPage(t)
	total := 0
	expect.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, err = w.Write(text)
		expect.NoError(t, errors.Join(err, w.Close()))
		t.Logf("%s: %d bytes, %d with gzip", entry.Name(), len(text), compressed.Len())
		total += compressed.Len()
		return nil
	}))
	if total > largest {
		t.Errorf("the page has %d bytes with gzip, more than %d", total, largest)
	}
}

// look is the size and color scheme of a screenshot.
type look struct {
	scheme        string
	width, height int64
}

// looks are all looks that are tested.
var looks = map[string]look{
	"desktop-light": {"light", 1440, 900},
	"desktop-dark":  {"dark", 1440, 900},
	"phone-light":   {"light", 390, 844},
	"phone-dark":    {"dark", 390, 844},
}

// someLooks returns all looks, or only one in short tests.
func someLooks(one string) map[string]look {
	if isLong {
		return looks
	}
	return map[string]look{one: looks[one]}
}

// TestPageIsAccessible checks each look, and writes screenshots to the directory of artifacts.
func TestPageIsAccessible(t *testing.T) {
	b := openBrowser(t)
	for name, look := range looks {
		b.look(look.scheme, look.width, look.height)
		b.open(b.local())
		b.run(`document.querySelectorAll("#verdicts tbody button")[2].click()`)
		b.settle()
		b.checkLook(name, wholePage)
		b.link("apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: batch}\nspec:\n  mode: DryRun\n  rules:\n"+
			"  - name: jobs\n    target: {apiVersion: batch/v1, kind: Job}\n    eligible: finshed(object)\n    ttl: 7 days\n", "", "2026-03-01T12:00:00Z")
		b.shoot(name+"-problems", wholePage)
	}
}

// checkLook writes a screenshot, runs axe-core with all rules or those with a tag, and checks that the page fits into the window.
func (b *tab) checkLook(name string, screenshot chromedp.Action[[]byte], tags ...string) {
	b.t.Helper()
	b.shoot(name, screenshot)
	packages, err := site.Packages(b.t.Context(), site.Web)
	expect.NoError(b.t, err)
	axe, err := os.ReadFile(filepath.Join(packages, "axe-core/axe.min.js"))
	expect.NoError(b.t, err)
	b.run(string(axe))
	for _, problem := range value[[]string](b, `axe.run(document, { resultTypes: ["violations"], runOnly: `+quote(tags)+` ?? undefined }).then(({ violations }) =>
		violations.map((v) => v.id + ": " + v.help + " " + v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).join("; ")))`) {
		b.t.Errorf("%s: %s", name, problem)
	}
	if overflow := value[int](b, `document.documentElement.scrollWidth - innerWidth`); overflow > 0 {
		b.t.Errorf("%s: the page is %d pixels wider than the window", name, overflow)
	}
}

var (
	wholePage = chromedp.FullScreenshot(100)
	window    = chromedp.CaptureScreenshot()
)

// shoot writes a screenshot.
func (b *tab) shoot(name string, screenshot chromedp.Action[[]byte]) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, screenshot)
	expect.NoError(b.t, err)
	file := filepath.Join(b.t.ArtifactDir(), name+".png")
	expect.NoError(b.t, os.WriteFile(file, png, 0o644))
	b.t.Log(file)
}

// TestLinkContainsTheState types into the editor, selects an object, and opens the link again.
func TestLinkContainsTheState(t *testing.T) {
	b := openBrowser(t)
	b.open(b.local())
	b.run(`document.querySelector("#policies .cm-content").focus()`)
	expect.NoError(t, chromedp.Do(b.ctx, chromedp.KeyEvent("# "+t.Name()+"\n")))
	b.settle()
	b.run(`document.querySelector("#verdicts tbody button").click()`)
	b.settle()
	b.run(`new Promise((done) => setTimeout(done, 400))`) // until the page has written the link
	state := func() string {
		return value[string](b, `["status", "time", "explanation"].map((id) => document.getElementById(id)).map((e) => e.value ?? e.textContent).join()`)
	}
	url, want := value[string](b, `location.href`), state()
	b.open(url)
	expect.Equal(t, "state", want, state())
	if text := value[string](b, `document.querySelector("#policies .cm-content").textContent`); !strings.Contains(text, t.Name()) {
		t.Errorf("the editor shows %.200s", text)
	}
}

// TestPageReadsDroppedAndPastedObjects: dropped files may be in UTF-16, and long text is used without showing it in the editor.
func TestPageReadsDroppedAndPastedObjects(t *testing.T) {
	b := openBrowser(t)
	b.open(b.local())
	give := func(event string) {
		t.Helper()
		b.run(`(async () => {
			const data = new DataTransfer();
			const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: report, namespace: team-a}\n---\n";
			if (` + quote(event) + ` === "drop") {
				const text = "\uFEFF" + job.repeat(2);
				data.items.add(new File([Uint16Array.from(text, (c) => c.charCodeAt(0))], "jobs.yaml"));
				document.getElementById("objects-pane").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
			} else {
				data.setData("text/plain", job.repeat(5000));
				document.querySelector("#objects .cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
			}
			await new Promise((done) => setTimeout(done, 400));
		})()`)
		b.settle()
	}
	give("drop")
	expect.Equal(t, "status", "1 policy, 2 objects, 2 verdicts", b.status())
	give("paste")
	expect.Equal(t, "status", "1 policy, 5,000 objects, 5,000 verdicts", b.status())
	expect.Equal(t, "files beside the editor", 1, value[int](b, `document.querySelectorAll("#files li").length`))
}

// TestPageJudgesTenThousandObjects opens a file with many objects, as kubectl get writes it.
func TestPageJudgesTenThousandObjects(t *testing.T) {
	onlyLong(t)
	b := openBrowser(t)
	b.open(b.local())
	t.Logf("the first verdicts were there %.0f ms after the page was opened", value[float64](b, `performance.now()`))
	var text strings.Builder
	text.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	const n = 10_000
	for i := range n {
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
	took := value[float64](b, `new Promise((done) => {
		const results = document.getElementById("results"), from = performance.now();
		const seen = new MutationObserver(() => { if (results.getAttribute("aria-busy") === "false") { seen.disconnect(); done(performance.now() - from); } });
		seen.observe(results, { attributes: true });
		const time = document.getElementById("time");
		time.value = "2026-02-20T00:00:00Z";
		time.dispatchEvent(new Event("change"));
	})`)
	t.Logf("after a change of the time, the verdicts about %d objects took %.0f ms", n, took)
	if value[int](b, `document.querySelectorAll("#verdicts tbody tr").length`) != 200 {
		t.Error("the table does not show the first 200 rows")
	}
}

// TestPageRefusesHugeFiles: the page says why, and keeps its objects.
func TestPageRefusesHugeFiles(t *testing.T) {
	b := openBrowser(t)
	b.open(b.local())
	before := b.status()
	file := filepath.Join(t.TempDir(), "huge.yaml")
	expect.NoError(t, os.WriteFile(file, nil, 0o644))
	expect.NoError(t, os.Truncate(file, playground.MaxBytes+1))
	b.upload(file)
	if got := b.status(); !strings.Contains(got, "huge.yaml has 67 MB") {
		t.Errorf("status %q", got)
	}
	b.run(`document.getElementById("now").click()`)
	b.settle()
	expect.Equal(t, "status", before, b.status())
}

// upload chooses a file with objects.
func (b *tab) upload(file string) {
	b.t.Helper()
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.ID("objects-file"), []string{file}, chromedp.NodeReady)))
	b.run(`new Promise((done) => setTimeout(done, 400))`) // until the page has read the file
	b.settle()
}

func (b *tab) status() string {
	b.t.Helper()
	return value[string](b, `document.getElementById("status").textContent`)
}
