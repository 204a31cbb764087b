// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"strings"
	"testing"
)

// TestExplanationShowsOtherObjects: which targets do not exist, and how many objects a selector matches.
func TestExplanationShowsOtherObjects(t *testing.T) {
	b := openBrowser(t)
	b.open(b.local())
	for _, test := range []struct{ sample, object, want string }{
		{"unused/access", "no-role", "Refers to objects that do not exist"},
		{"unused/network", "retired", "Selects0 Pods and Pod templates"},
	} {
		b.run(`(() => { const menu = document.getElementById("samples"); menu.value = ` + quote(test.sample) + `; menu.dispatchEvent(new Event("change")); })()`)
		b.settle()
		b.run(`Array.from(document.querySelectorAll("#verdicts tbody th button")).find((e) => e.textContent === ` + quote(test.object) + `).click()`)
		b.settle()
		if got := value[string](b, `document.getElementById("explanation").textContent`); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q is missing in %s", test.sample, test.want, got)
		}
	}
}
