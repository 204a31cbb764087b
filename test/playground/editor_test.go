// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestErrorIsMarkedAtItsPlace: the wrong word is marked, in a field and in lines of a block. The mouse shows the message with its hint.
func TestErrorIsMarkedAtItsPlace(t *testing.T) {
	b := openPlayground(t)
	for name, expression := range map[string]string{"in a field": " finshed(object)", "in a block": " |-\n      true\n      && finshed(object)", "in quotes": ` "true && finshed(object)"`} {
		b.link("apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: batch}\nspec:\n  rules:\n"+
			"  - name: jobs\n    target: {apiVersion: batch/v1, kind: Job}\n    eligible:"+expression+"\n    ttl: 7d\n", "", "2026-03-01T12:00:00Z")
		b.waitFor(`document.querySelector("#policies .cm-lintRange-error")`)
		marked := value[[]string](b, `Array.from(document.querySelectorAll("#policies .cm-lintRange-error"), (e) => e.textContent + " in " + e.closest(".cm-line").textContent.trim())`)
		if len(marked) != 1 || !strings.HasPrefix(marked[0], "finshed in ") || !strings.HasSuffix(strings.TrimSuffix(marked[0], `"`), "finshed(object)") {
			t.Errorf("%s: marked %q", name, marked)
		}
		place := value[[]float64](b, `(() => { const r = document.querySelector("#policies .cm-lintRange-error").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
		expect.NoError(t, chromedp.Do(b.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, place[0], place[1])))
		b.waitFor(`document.querySelector(".cm-tooltip-lint")`)
		if got := value[string](b, `document.querySelector(".cm-tooltip-lint").textContent`); !strings.Contains(got, "finshed") || !strings.Contains(got, "Hint: ") || !strings.Contains(got, "finished") {
			t.Errorf("%s: the editor shows %q", name, got)
		}
		expect.NoError(t, chromedp.Do(b.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5)))
	}
}
