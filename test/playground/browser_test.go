// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/cmd/playground"
	"github.com/sunset-k8s/sunset/cmd/playground/site"
	"github.com/sunset-k8s/sunset/test/debian"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

// thePage builds the playground, if it is not in the cache.
var thePage = once(site.Page)

// once returns a function that builds something once per process. An interrupt of the tests ends the build, and then the tests.
func once(build func(context.Context) (string, error)) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		dir, err := build(ctx)
		if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return dir, err
	})
}

// tab is a tab of a browser with the playground.
type tab struct {
	t   *testing.T
	ctx context.Context
	dir string // of the page
}

// openPage returns the directory of the playground, and the paths of programs.
func openPage(t *testing.T) (dir string, programs map[string]string) {
	t.Helper()
	programs = install(t, map[string]string{"chromium": "chromium", "node": "nodejs", "npm": "npm", "zstd": "zstd"})
	dir, err := thePage()
	expect.NoError(t, err)
	return dir, programs
}

// install returns the paths of programs. It skips the test if one is missing and cannot be installed: only root can on Debian.
func install(t *testing.T, needed map[string]string) map[string]string {
	t.Helper()
	programs, err := debian.Programs(t.Context(), needed, t.Output())
	if err != nil {
		t.Skip(err)
	}
	return programs
}

// browser is the browser of all tests, once one needs it.
var browser struct {
	once sync.Once
	ctx  context.Context
	err  error
}

// startBrowser starts a browser. On a machine with much work, one that has just started may end, or may not answer in time.
func startBrowser(path string) (ctx context.Context, err error) {
	for range 3 {
		var cancel func()
		ctx, cancel = chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute)))
		if err = chromedp.Do(ctx); err == nil {
			return ctx, nil
		}
		cancel()
	}
	return nil, err
}

// stopBrowser ends the browser, if one was started.
func stopBrowser() error {
	if browser.ctx == nil {
		return nil
	}
	return chromedp.Cancel(browser.ctx)
}

// openBrowser opens an empty tab until the test ends.
func openBrowser(t *testing.T) *tab {
	t.Helper()
	b, closeTab := newTab(t)
	t.Cleanup(closeTab)
	return b
}

// newTab opens an empty tab. It shares the browser with other tabs, but no storage.
func newTab(t *testing.T) (b *tab, closeTab func()) {
	t.Helper()
	dir, programs := openPage(t)
	browser.once.Do(func() { browser.ctx, browser.err = startBrowser(programs["chromium"]) })
	expect.NoError(t, browser.err)
	ctx, cancel := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	return &tab{t, ctx, dir}, cancel
}

// open shows the playground at a URL, and waits for its first verdicts.
func (b *tab) open(url string) {
	b.t.Helper()
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(url)))
	b.settle()
}

// show opens any page.
func (b *tab) show(url string) {
	b.t.Helper()
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(url)))
}

// local returns the URL of the page in its file.
func (b *tab) local() string { return "file://" + filepath.Join(b.dir, "index.html") }

// settle waits until the page shows the result of its input.
func (b *tab) settle() {
	b.t.Helper()
	b.run(`new Promise((done) => {
		const look = () => document.getElementById("results")?.getAttribute("aria-busy") === "false" ? done() : setTimeout(look, 20);
		setTimeout(look, 20);
	})`)
}

// choose chooses a sample in the menu, and waits for its verdicts.
func (b *tab) choose(sample string) {
	b.t.Helper()
	b.run(`(() => { const menu = document.getElementById("samples"); menu.value = ` + quote(sample) + `; menu.dispatchEvent(new Event("change")); })()`)
	b.settle()
}

// run evaluates JavaScript and waits for its promise.
func (b *tab) run(script string) {
	b.t.Helper()
	value[*runtime.RemoteObject](b, script)
}

func value[T any](b *tab, script string) T {
	b.t.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v\n%.300s", err, script)
	}
	return got
}

func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})))
}

// look sets the color scheme and the size of the window.
func (b *tab) look(scheme string, width, height int64) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height)))
}

// quote returns a value as JavaScript.
func quote(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// showScripts shows an empty page with what engine.js contains. It does not run the engine.
func (b *tab) showScripts() {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "empty.html")
	expect.NoError(b.t, os.WriteFile(file, []byte(`<!doctype html><script src="file://`+filepath.Join(b.dir, "engine.js")+`"></script>`), 0o644))
	b.show("file://" + file)
}

// startWorker starts the engine of the page in a worker without the page, which ask then asks.
func (b *tab) startWorker() {
	b.t.Helper()
	b.showScripts()
	b.run(`(() => {
		const worker = new Worker(URL.createObjectURL(new Blob([sunsetEngine.worker])));
		const next = (message) => new Promise((done) => { worker.onmessage = ({ data }) => done(data); worker.postMessage(message); });
		window.ask = async (requests) => {
			const responses = [];
			for (const request of requests) responses.push(JSON.stringify((await next({ request })).response ?? {}));
			return responses;
		};
		return next({ wasm: sunsetEngine.wasm });
	})()`)
}

// ask sends requests to the worker of startWorker.
func (b *tab) ask(requests ...playground.Request) []*response {
	b.t.Helper()
	var all []*response
	for _, text := range value[[]string](b, "ask("+quote(requests)+")") {
		all = append(all, decoded(b.t, text))
	}
	return all
}

// TestPageDecidesAsTheCommandLine runs the engine of the page in a worker of a browser, with cases of
// TestEngineDecidesAsTheCommandLine. Most random cases run only there: the engine is the same.
func TestPageDecidesAsTheCommandLine(t *testing.T) {
	b := openWorker(t)
	cases := allCases(t)
	if !long.Enabled() {
		cases = cases[:len(cases)-15]
	}
	const batch = 50 // one message may have a few megabytes
	for len(cases) > 0 {
		some := cases[:min(batch, len(cases))]
		cases = cases[len(some):]
		requests := make([]playground.Request, len(some))
		for i, c := range some {
			requests[i] = c.request
		}
		for i, got := range b.ask(requests...) {
			t.Run(some[i].name, func(t *testing.T) { some[i].check(t, got) })
		}
	}
}

// TestPageRefusesHostileInput: in a browser, the engine has less stack and memory than elsewhere.
func TestPageRefusesHostileInput(t *testing.T) {
	b := openWorker(t)
	refuseHostileInput(t, hostileInput, func(r playground.Request) *response { return b.ask(r)[0] })
}

// TestPageShowsSamples chooses each sample in the menu, and compares the table with its want.yaml.
func TestPageShowsSamples(t *testing.T) {
	b := openPlayground(t)
	for _, s := range some(samples(t)) {
		b.choose(s.name)
		got := value[[]string](b, `Array.from(document.querySelectorAll("#verdicts tbody tr:has(button)"), (row) => {
			const text = (q) => row.querySelector(q)?.textContent ?? "";
			return [text("small"), text("th button"), text(".badge"), row.children[2].firstChild.textContent, text(".due small")].join(" ");
		})`)
		var want []string
		for _, v := range s.want.Verdicts {
			kind, name := v.Kind, v.Name
			if v.Namespace != "" {
				kind += " in " + v.Namespace
			}
			if v.Image != "" {
				name = v.Image
			}
			want = append(want, strings.Join([]string{kind, name, v.Action, v.Reason, v.DueTime}, " "))
		}
		expect.Equal(t, s.name, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// attemptInWorker adds attempts to connect to the script of the engine's worker. The promise attempts has the results.
const attemptInWorker = `
const attempt = ` + "`" + `{
	const url = "ORIGIN/stolen";
	const opened = (it) => new Promise((sent, refused) => { it.onopen = sent; it.onerror = refused; });
	const ways = {
		fetch: () => fetch(url),
		script: async () => importScripts(url),
		request: async () => { const r = new XMLHttpRequest(); r.open("GET", url, false); r.send(); },
		socket: async () => opened(new WebSocket(url.replace("http", "ws"))),
		events: async () => opened(new EventSource(url)),
	};
	const results = Object.entries(ways).map(([name, way]) => way().then(() => name + " sent", () => name + " refused"));
	Promise.all(results).then((all) => new BroadcastChannel("attempts").postMessage(all.join(", ")));
}
` + "`" + `;
window.attempts = new Promise((done) => { (window.channel = new BroadcastChannel("attempts")).onmessage = ({ data }) => done(data); });
let engine;
Object.defineProperty(window, "sunsetEngine", {
	configurable: true,
	get: () => engine,
	set: (value) => { engine = { ...value, worker: attempt.replace("ORIGIN", location.origin) + value.worker }; },
});
`

// TestPageSendsNothing serves the page, records every request, and tries to send one from the page and from its worker.
func TestPageSendsNothing(t *testing.T) {
	b := openBrowser(t)
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r.URL.Path)
		mu.Unlock()
		http.FileServer(http.Dir(b.dir)).ServeHTTP(w, r)
	}))
	defer server.Close()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: attemptInWorker})
	b.open(server.URL)
	if n := value[int](b, `document.querySelectorAll("#verdicts tbody tr").length`); n < 2 {
		t.Errorf("%d rows from a server", n)
	}
	for _, attempt := range []string{`fetch("/stolen")`, `new Promise((done, failed) => { const i = new Image(); i.onload = done; i.onerror = failed; i.src = "/stolen"; })`} {
		if got := value[string](b, attempt+`.then(() => "sent", () => "refused")`); got != "refused" {
			t.Errorf("%s: %s", attempt, got)
		}
	}
	if got := value[string](b, `(() => { try { document.body.innerHTML = "<p>x</p>"; return "parsed"; } catch { return "refused"; } })()`); got != "refused" {
		t.Errorf("HTML from text: %s", got)
	}
	expect.Equal(t, "attempts in the worker of the engine", "fetch refused, script refused, request refused, socket refused, events refused", value[string](b, `attempts`))
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(requests)
	expect.Equal(t, "requests", "/ /app.js /engine.js /samples.js /style.css", strings.Join(requests, " "))
}

// TestPageShowsHostileInputAsText: names, messages and values that are HTML are text, and the page works after them.
func TestPageShowsHostileInputAsText(t *testing.T) {
	b := openPlayground(t)
	const html = `<img src=x onerror=hacked=1><script>hacked=1</script>`
	policies := "apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: " + quote(html) + "}\nspec:\n  rules:\n" +
		"  - {name: r, target: {apiVersion: v1, kind: Pod}, eligible: " + quote(`object.metadata.name != "`+strings.ReplaceAll(html, `"`, ``)+`2"`) + ", startTime: object.metadata.creationTimestamp, ttl: 1h}\n" +
		"  - {name: " + quote(html) + ", target: {apiVersion: v1, kind: Pod}, eligible: " + quote(html) + ", ttl: " + quote(html) + "}\n"
	object := "apiVersion: v1\nkind: Pod\nmetadata: {name: " + quote(html) + ", namespace: " + quote(html) + ", creationTimestamp: 2026-01-01T00:00:00Z}\n"
	b.link(policies, object, html)
	b.run(`document.querySelector("#verdicts tbody button").click()`)
	b.settle()
	b.link("}{"+html, object, "2026-03-01T12:00:00Z")
	b.link(policies, html+": {", "2026-03-01T12:00:00Z")
	b.link(policies, "deep: "+strings.Repeat("[#]\n", 5000), "2026-03-01T12:00:00Z")
	b.link(policies, object+"deep: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000), "2026-03-01T12:00:00Z")
	if got := value[string](b, `String([typeof hacked, document.querySelectorAll("img:not(.cm-widgetBuffer)").length, document.scripts.length])`); got != "undefined,0,3" {
		t.Errorf("hacked, images and scripts: %s", got)
	}
	b.run(`location.hash = "AAAA"`)
	b.waitFor(`document.getElementById("status").textContent.startsWith("The link is damaged")`)
	b.choose("finished-jobs")
	if got := value[string](b, `document.getElementById("status").textContent`); got != "1 policy, 10 objects, 9 verdicts" {
		t.Errorf("after hostile input: %s", got)
	}
}
