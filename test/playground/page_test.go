// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/cmd/playground"
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

// TestPageIsAccessible checks each look, also with problems.
func TestPageIsAccessible(t *testing.T) {
	b := openPlayground(t)
	for name, look := range someLooks() {
		b.look(look.scheme, look.width, look.height)
		b.choose("finished-jobs")
		b.run(`document.querySelectorAll("#verdicts tbody button")[2].click()`)
		b.settle()
		b.checkLook("playground-"+name, wholePage)
		b.link("apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: batch}\nspec:\n  mode: DryRun\n  rules:\n"+
			"  - name: jobs\n    target: {apiVersion: batch/v1, kind: Job}\n    eligible: finshed(object)\n    ttl: 7 days\n", "", "2026-03-01T12:00:00Z")
		b.shoot("playground-"+name+"-problems", wholePage)
	}
}

// link opens the playground with a state.
func (b *tab) link(policies, objects, at string) {
	b.t.Helper()
	b.run(`(async () => {
		const stream = new Response(JSON.stringify(` + quote(map[string]string{"policies": policies, "objects": objects, "at": at}) + `)).body.pipeThrough(new CompressionStream("deflate-raw"));
		const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
		document.getElementById("as-written").checked = true; // until the page has read the link
		location.hash = btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
		history.replaceState(null, "", "#"); // as the page does when it saves an older state
	})()`)
	b.waitFor(`!document.getElementById("as-written").checked`)
	b.settle()
}

// TestTimelineShowsObjectsThatExpire: a held and a terminating Job of the first sample have a due time, but do not expire then.
func TestTimelineShowsObjectsThatExpire(t *testing.T) {
	b := openPlayground(t)
	label := value[string](b, `document.querySelector("#timeline svg").getAttribute("aria-label")`)
	if want := "5 objects with a due time, from 2026-02-"; !strings.HasPrefix(label, want) {
		t.Errorf("the chart shows %q, want %q", label, want)
	}
}

// TestLinkContainsTheState types into the editor, selects an object, and opens the link again.
func TestLinkContainsTheState(t *testing.T) {
	b := openPlayground(t)
	b.run(`document.querySelector("#policies .cm-content").focus()`)
	expect.NoError(t, chromedp.Do(b.ctx, chromedp.KeyEvent("# "+t.Name()+"\n")))
	b.settle()
	b.run(`document.querySelector("#verdicts tbody button").click()`)
	b.settle()
	b.run(`(async () => {
		for (let state = {}; !state.explain; await new Promise((done) => setTimeout(done, 20))) {
			const bytes = Uint8Array.from(atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
			state = await new Response(new Response(bytes).body.pipeThrough(new DecompressionStream("deflate-raw"))).json().catch(() => ({}));
		}
	})()`) // until the page has written the link
	state := func(b *tab) string {
		b.t.Helper()
		return value[string](b, `["status", "time", "explanation"].map((id) => document.getElementById(id)).map((e) => e.value ?? e.textContent).join()`)
	}
	url, want := value[string](b, `location.href`), state(b)
	another := openBrowser(t)
	another.open(url)
	expect.Equal(t, "state", want, state(another))
	if text := value[string](another, `document.querySelector("#policies .cm-content").textContent`); !strings.Contains(text, t.Name()) {
		t.Errorf("the editor shows %.200s", text)
	}
}

// TestPageReadsDroppedAndPastedObjects: dropped files may be in UTF-16, and long text is used without showing it in the editor. The
// worker gets objects again only if they change, because it takes long to decode them.
func TestPageReadsDroppedAndPastedObjects(t *testing.T) {
	b := openPlayground(t)
	give := func(event string) {
		t.Helper()
		b.run(`(() => {
			document.getElementById("samples").value = "finished-jobs"; // until the page has read the text
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
		})()`)
		b.waitFor(`document.getElementById("samples").value === ""`)
		b.settle()
	}
	give("drop")
	expect.Equal(t, "status", "1 policy, 2 objects, 2 verdicts", b.status())
	give("paste")
	expect.Equal(t, "status", "1 policy, 5,000 objects, 5,000 verdicts", b.status())
	expect.Equal(t, "files beside the editor", 1, value[int](b, `document.querySelectorAll("#files li").length`))
	b.run(`(() => {
		window.sent = [];
		const send = window.send ??= Worker.prototype.postMessage;
		Worker.prototype.postMessage = function (message) { sent.push(message.request.objects !== undefined); send.call(this, message); };
	})()`)
	defer b.breakEngine("false")
	for _, editor := range []string{"policies", "objects"} {
		// Text that is typed on a busy machine may be evaluated before all of it is there.
		b.run(`(() => {
			const data = new DataTransfer();
			data.setData("text/plain", "# edit\n");
			const content = document.querySelector("#` + editor + ` .cm-content");
			content.focus();
			content.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
		})()`)
		b.settle()
	}
	expect.Equal(t, "objects in the requests after an edit of the policy and of the objects", "false,true", value[string](b, `sent.join()`))
}

// TestPageRefusesHugeFiles: the page says why, and keeps its objects.
func TestPageRefusesHugeFiles(t *testing.T) {
	b := openPlayground(t)
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
	b.run(`document.getElementById("samples").value = "finished-jobs"`) // until the page has read the file or says why not
	before := b.status()
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.ID("objects-file"), []string{file}, chromedp.NodeReady)))
	b.waitFor(`document.getElementById("samples").value === "" || document.getElementById("status").textContent !== ` + quote(before))
	b.settle()
}

func (b *tab) status() string {
	b.t.Helper()
	return value[string](b, `document.getElementById("status").textContent`)
}
