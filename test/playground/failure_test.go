// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// breakEngine makes the worker read an engine that is damaged instead of what the page sends, if a condition about the message is true.
func (b *tab) breakEngine(condition string) {
	b.t.Helper()
	b.run(`(() => {
		const send = window.send ??= Worker.prototype.postMessage;
		Worker.prototype.postMessage = function (message) { send.call(this, ` + condition + ` ? { wasm: "AAAA" } : message); };
	})()`)
}

// TestPageOffersToStartABrokenEngineAgain: the page does not wait for an engine that has failed or cannot start.
func TestPageOffersToStartABrokenEngineAgain(t *testing.T) {
	b := openPlayground(t)
	before := b.status()
	says := func(want string) {
		t.Helper()
		b.settle()
		if got := b.status(); !strings.Contains(got, want) {
			t.Errorf("status %q, want %q", got, want)
		}
	}
	again := func() { b.run(`document.querySelector("#restart button").click()`) }
	b.breakEngine("message.request")
	b.run(`document.getElementById("now").click()`)
	says("The engine stopped: ")
	b.breakEngine("true")
	again()
	says("The engine cannot start: ")
	b.breakEngine("false")
	again()
	says(before)
	if value[bool](b, `document.querySelector("#restart button") !== null || document.querySelector(".stale") !== null`) {
		t.Error("the page still offers to start the engine")
	}
}

// TestPageEvaluatesAChangeAfterAFailure: a person need not select the button.
func TestPageEvaluatesAChangeAfterAFailure(t *testing.T) {
	b := openPlayground(t)
	before := b.status()
	b.breakEngine("message.request")
	b.run(`document.getElementById("now").click()`)
	b.settle()
	b.breakEngine("false")
	b.run(`document.querySelector("#policies .cm-content").focus()`)
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent("# a change\n")); err != nil {
		t.Fatal(err)
	}
	b.settle()
	if got := b.status(); got != before {
		t.Errorf("status %q, want %q", got, before)
	}
}

// emptyModule is the shortest module of WebAssembly, uncompressed in a frame of zstd.
const emptyModule = "\x28\xb5\x2f\xfd\x20\x08\x41\x00\x00" + "\x00asm\x01\x00\x00\x00"

// TestWorkerReportsThatItsEngineEnded: a program that ends between requests is a failure too.
func TestWorkerReportsThatItsEngineEnded(t *testing.T) {
	b := openBrowser(t)
	b.showScripts()
	got := value[string](b, `new Promise((done) => {
		const ends = ";globalThis.Go = class { importObject = new Proxy({}, { get: () => new Proxy({}, { get: () => () => {} }) }); async run() { sunsetReady(); } };";
		const support = sunsetEngine.worker.indexOf("(()=>{");
		const worker = new Worker(URL.createObjectURL(new Blob([sunsetEngine.worker.slice(0, support) + ends + sunsetEngine.worker.slice(support)])));
		const messages = [];
		worker.onmessage = ({ data }) => { messages.push(JSON.stringify(data)); if (messages.length === 2) done(messages.join(" ")); };
		worker.postMessage({ wasm: `+quote(base64.StdEncoding.EncodeToString([]byte(emptyModule)))+` });
	})`)
	if want := `{"ready":true} {"failure":"Error: the program ended"}`; got != want {
		t.Errorf("messages %s, want %s", got, want)
	}
}
