// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

// shell runs a shell script like a component.
func shell(t *testing.T, script string) *process {
	t.Helper()
	p, err := launch(shellCommand(t.TempDir(), script))
	expect.NoError(t, err)
	t.Cleanup(func() { p.finish(0) })
	return p
}

func shellCommand(dir, script string) Program {
	return Program{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Log: filepath.Join(dir, "log")}
}

func TestProcessThatEndsByItselfTellsWhy(t *testing.T) {
	p := shell(t, "echo boom; exit 3")
	<-p.done
	if err := p.crashed(); err == nil || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("crashed = %v, want exit status 3 and its output", err)
	}
}

func TestProcessThatIgnoresTermIsKilled(t *testing.T) {
	p := shell(t, "trap '' TERM; echo up; while :; do sleep 0.05; done")
	Eventually(t, time.Minute, func() error {
		return Want(len(p.output()) > 0, "not up")
	})
	p.terminate()
	p.finish(100 * time.Millisecond)
	if !p.exited() || p.crashed() != nil {
		t.Errorf("exited %t, crashed %v; want a requested end", p.exited(), p.crashed())
	}
}

// A child must outlive the OS thread of the goroutine that started it.
func TestChildOutlivesItsCaller(t *testing.T) {
	dir := t.TempDir()
	started := make(chan *process)
	for range 3 {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			p, err := launch(shellCommand(dir, "sleep 60"))
			if err != nil {
				t.Error(err)
			}
			started <- p
		}()
		p := <-started
		select {
		case <-p.done:
			t.Errorf("child ended with its caller's thread: %v", p.cmd.ProcessState)
		case <-time.After(100 * time.Millisecond): // no event reports the end of a thread
		}
		p.finish(0)
	}
}

const helperEnv = "SUNSET_TEST_HELPER_DIR"

// TestHelper is not a test: it is the process that the next test kills.
func TestHelper(t *testing.T) {
	dir := os.Getenv(helperEnv)
	if dir == "" {
		t.Skip("helper of TestChildDiesWithUs")
	}
	p, err := launch(shellCommand(dir, "sleep 60"))
	expect.NoError(t, err)
	fmt.Printf("pid %d\n", p.cmd.Process.Pid)
	<-p.done
}

func TestChildDiesWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the parent death signal of Linux")
	}
	helper := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelper$")
	helper.Env = append(os.Environ(), helperEnv+"="+t.TempDir())
	out, err := helper.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, helper.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	expect.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid ")))
	if err != nil || !alive(pid) {
		t.Fatalf("helper says %q: %v, alive %t", line, err, alive(pid))
	}
	expect.NoError(t, helper.Process.Kill())
	_ = helper.Wait() // the kill is its error
	Eventually(t, time.Minute, func() error {
		return Want(!alive(pid), "child %d lives", pid)
	})
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
