// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

func TestPageNamesMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Page(t.Context())
	for name, p := range programs {
		for _, want := range []string{`program "` + name + `" is missing; ` + p.use, p.install} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
	}
}

// TestRunEndsProcesses: the end of the context ends also the processes that a program has started, here one that ignores interrupts.
func TestRunEndsProcesses(t *testing.T) {
	reader, writer, err := os.Pipe()
	expect.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", `(trap "" INT; echo started >&3; exec sleep 1000) & wait`)
	command.ExtraFiles = []*os.File{writer}
	ended := make(chan error)
	go func() { ended <- runGroup(command) }()
	started := make([]byte, 1)
	_, err = io.ReadFull(reader, started)
	expect.NoError(t, err)
	expect.NoError(t, writer.Close())
	cancel()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	expect.NoError(t, reader.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadAll(reader) // until no process has the pipe
	expect.NoError(t, err)
}

// TestRunSaysWhatTookTooLong: the error names the program and the limit.
func TestRunSaysWhatTookTooLong(t *testing.T) {
	programs["sleep"] = program{longest: time.Millisecond}
	defer delete(programs, "sleep")
	_, err := run(t.Context(), "", nil, "sleep", "1000")
	if err == nil || !strings.HasPrefix(err.Error(), "sleep 1000: stopped after 1ms") {
		t.Errorf("error %v", err)
	}
}
