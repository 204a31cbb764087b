// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a controller under measurement.
type process struct {
	cmd  *exec.Cmd
	term context.CancelFunc // sends SIGTERM, and SIGKILL 20 seconds later
	log  *os.File
}

// start starts a program that writes its log to a file.
func start(path, logPath string, env []string, args ...string) (*process, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	ctx, term := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C goes to the benchmark, which stops the program
	if err := cmd.Start(); err != nil {
		term()
		return nil, err
	}
	return &process{cmd: cmd, term: term, log: log}, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process and waits for its exit.
func (p *process) stop() {
	if p == nil {
		return
	}
	p.term()
	_ = p.cmd.Wait()
	_ = p.log.Close()
}

// memory returns the current and the peak resident memory of a process, in bytes.
func memory(pid int) (now, peak int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	return kilobytes(data, "VmRSS"), kilobytes(data, "VmHWM"), nil
}

func kilobytes(status []byte, field string) int64 {
	match := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(status)
	if match == nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(match[1]), 10, 64)
	return n * 1024
}

// ticksPerSecond is the kernel's USER_HZ, 100 on every Linux that Go supports.
const ticksPerSecond = 100

// cpu returns the processor time that a process has used.
func cpu(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}
