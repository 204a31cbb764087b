// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestWithoutATerminal: a file and a buffer have no style.
func TestWithoutATerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	expect.NoError(t, err)
	defer func() { _ = file.Close() }()
	for _, w := range []io.Writer{file, &strings.Builder{}} {
		if WithStyle(w) != w {
			t.Errorf("%T has a style", w)
		}
	}
}

// TestProgress: the line appears after two seconds, follows the number, and is erased.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := startProgress(&b, "objects read")
		p.Set(1)
		time.Sleep(progressDelay + progressInterval/2)
		p.Add(1)
		time.Sleep(progressInterval)
		p.Stop()
		p.Stop()
		expect.Equal(t, "progress", "\r\x1b[K1 objects read\r\x1b[K2 objects read\r\x1b[K", b.String())

		b.Reset()
		p = startProgress(&b, "objects read")
		time.Sleep(progressDelay / 2)
		p.Stop()
		expect.Equal(t, "a short command", "", b.String())
	})
	var b strings.Builder
	StartProgress(&b, "objects read").Stop()
	expect.Equal(t, "without a terminal", "", b.String())
	var none *Progress
	none.Set(1)
	none.Add(1)
	none.Stop()
}
