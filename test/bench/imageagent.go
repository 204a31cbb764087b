// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// imageAgent is an agent under measurement. Its log reports every image that it removes.
type imageAgent struct {
	*process
	log     *os.File
	lines   *bufio.Reader
	line    []byte      // the incomplete last line of the log
	removed []time.Time // when each image was removed
}

// startAgent starts an agent on a node. The agent knows no image ages yet.
func (b *imageBench) startAgent(n *imageNode, flags ...string) (*imageAgent, error) {
	state, err := os.MkdirTemp(b.dir, "agent-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(state, "log")
	args := append([]string{"--kubeconfig", b.plane.Kubeconfig(), "--node-name", b.node, "--runtime-endpoint", n.Endpoint,
		"--state-dir", filepath.Join(state, "ages"), "--metrics-bind-address=0", "--health-probe-bind-address=0",
		// Otherwise the agent logs at most a hundred messages a second.
		"--zap-devel", "--zap-log-level=debug", "--zap-encoder=json", "--zap-time-encoding=rfc3339nano"}, flags...)
	p, err := start(b.agent, path, nil, args...)
	if err != nil {
		return nil, err
	}
	log, err := os.Open(path)
	if err != nil {
		p.stop()
		return nil, err
	}
	return &imageAgent{process: p, log: log, lines: bufio.NewReader(log)}, nil
}

func (a *imageAgent) stop() {
	a.process.stop()
	_ = a.log.Close()
}

// agentPatience is how long an agent may go without removing an image.
const agentPatience = time.Minute

// until waits until an agent has removed this many images.
func (a *imageAgent) until(ctx context.Context, removed int) error {
	for last := time.Now(); len(a.removed) < removed; {
		before := len(a.removed)
		if err := a.read(); err != nil {
			return err
		}
		if len(a.removed) > before {
			last = time.Now()
		}
		if time.Since(last) > agentPatience {
			text, _ := os.ReadFile(a.log.Name())
			return fmt.Errorf("the agent stopped after %d of %d images; its log:\n%s", len(a.removed), removed, text[max(0, len(text)-2000):])
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// read reads what the agent has added to its log.
func (a *imageAgent) read() error {
	for {
		part, err := a.lines.ReadBytes('\n')
		a.line = append(a.line, part...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var entry struct {
			Time    time.Time `json:"ts"`
			Message string    `json:"msg"`
		}
		if json.Unmarshal(a.line, &entry) == nil && entry.Message == "deleted" {
			a.removed = append(a.removed, entry.Time)
		}
		a.line = a.line[:0]
	}
}
