// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// plain prints changes as lines, for logs and for terminals without colours.
type plain struct {
	out  io.Writer
	told map[string]string // the last line of each Job
}

func newPlain(out io.Writer) *plain { return &plain{out: out, told: map[string]string{}} }

// Write implements io.Writer.
func (p *plain) Write(text []byte) (int, error) {
	fmt.Fprintf(p.out, "  %s\n", strings.TrimSpace(string(text)))
	return len(text), nil
}

func (p *plain) begin(name string) func(error) {
	fmt.Fprintln(p.out, name+" ...")
	start := time.Now()
	return func(err error) {
		if err == nil {
			fmt.Fprintf(p.out, "  done in %s\n", took(start))
		}
	}
}

func (p *plain) say(command, text string) { fmt.Fprintf(p.out, "\n$ %s\n%s\n", command, text) }

func (p *plain) show(f frame) {
	for _, text := range p.news(f) {
		fmt.Fprintln(p.out, text)
	}
}

// news returns a line for each Job that has changed, ignoring the passing of time.
func (p *plain) news(f frame) []string {
	var lines []string
	for _, j := range f.jobs {
		key, text := j.namespace+"/"+j.name, tale(j, f)
		if p.told[key] != text {
			p.told[key] = text
			lines = append(lines, fmt.Sprintf("%5.1fs  %-18s  %s", f.elapsed.Seconds(), key, text))
		}
	}
	return lines
}

// tale describes the state of a Job in words that do not change with the time.
func tale(j job, f frame) string {
	w := rowOf(j, f)
	switch {
	case !j.gone.IsZero():
		return w.fate
	case j.finished.IsZero():
		return w.state
	case w.due == "-" || j.held:
		return w.state + ", " + w.fate
	default:
		return fmt.Sprintf("%s, TTL %s, due %s", w.state, w.ttl, w.due)
	}
}

func (p *plain) conclude(f frame, summary table) {
	fmt.Fprintf(p.out, "\n$ kubectl get cret\n%s\n", f.policy.printed)
	fmt.Fprintf(p.out, "%s\n\n%s\n\n", strings.Join(summary.lines(false), "\n"), totalsOf(f).text(false))
}

func (p *plain) close() {}
