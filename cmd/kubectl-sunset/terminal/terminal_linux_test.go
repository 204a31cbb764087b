// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestStyleOfATerminal(t *testing.T) {
	for name, test := range map[string]struct {
		columns       uint16
		noColor, term string
		want          text.Style
	}{
		"with colors":             {100, "", "xterm", text.Style{Width: 100, Color: true}},
		"with NO_COLOR":           {100, "1", "xterm", text.Style{Width: 100}},
		"with TERM=dumb":          {100, "", "dumb", text.Style{Width: 100}},
		"narrower than the limit": {10, "", "xterm", text.Style{Width: narrowest, Color: true}},
		"wider than the limit":    {500, "", "xterm", text.Style{Width: widest, Color: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			t.Setenv("TERM", test.term)
			terminal, _ := fixture.Terminal(t, test.columns)
			expect.Equal(t, "style", test.want, text.StyleOf(WithStyle(terminal)))
		})
	}
}
