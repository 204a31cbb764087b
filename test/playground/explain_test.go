// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"strings"
	"testing"
)

// TestExplanationShowsOtherObjects: which targets do not exist, and how many objects a selector matches.
func TestExplanationShowsOtherObjects(t *testing.T) {
	b := openPlayground(t)
	for _, test := range []struct{ sample, object, want string }{
		{"unused/access", "no-role", "Refers to objects that do not exist"},
		{"unused/network", "retired", "Selects0 Pods and Pod templates"},
	} {
		b.choose(test.sample)
		b.run(`Array.from(document.querySelectorAll("#verdicts tbody th button")).find((e) => e.textContent === ` + quote(test.object) + `).click()`)
		b.settle()
		if got := value[string](b, `document.getElementById("explanation").textContent`); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q is missing in %s", test.sample, test.want, got)
		}
	}
}
