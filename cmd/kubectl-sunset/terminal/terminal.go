// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"io"
	"os"

	_ "github.com/fatih/color" // makes the console of Windows show colors
	"golang.org/x/term"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// The bounds of the width of wrapped text.
const (
	narrowest = 40
	widest    = 120
)

// WithStyle returns a writer with the style of the terminal that w is. If w is not a terminal, it returns w. Text is in color
// unless NO_COLOR is set and not empty, or TERM is dumb; see https://no-color.org.
func WithStyle(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	style := text.Style{Width: text.Plain.Width, Color: os.Getenv("NO_COLOR") == "" && !isDumb()}
	if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil {
		style.Width = min(max(width, narrowest), widest)
	}
	return text.Writer{Writer: w, Style: style}
}

// isDumb reports whether the terminal only appends text.
func isDumb() bool { return os.Getenv("TERM") == "dumb" }

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
