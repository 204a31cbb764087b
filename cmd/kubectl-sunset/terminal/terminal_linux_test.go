// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/test/expect"
)

// openTerminal returns a terminal that is not the standard output.
func openTerminal(t *testing.T, columns uint16) *os.File {
	t.Helper()
	open := func(path string) *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
		expect.NoError(t, err)
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	emulator := open("/dev/ptmx")
	fd := int(emulator.Fd())
	expect.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	expect.NoError(t, err)
	expect.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	return open(fmt.Sprint("/dev/pts/", number))
}

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
			expect.Equal(t, "style", test.want, text.StyleOf(WithStyle(openTerminal(t, test.columns))))
		})
	}
}
