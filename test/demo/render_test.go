// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var update = flag.Bool("update", false, "update the golden files")

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

// enforcedAtTen is a dry run from noon on that switches to Enforce ten seconds later.
func enforcedAtTen() history {
	r := rules{
		since: noon, generation: 1, mode: v1alpha1.DryRun, excluded: []string{golden},
		ttl: map[string]time.Duration{succeededRule: 8 * time.Second, failedRule: 20 * time.Second},
	}
	enforced := r
	enforced.since, enforced.generation, enforced.mode = after(10*time.Second), 2, v1alpha1.Enforce
	return history{r}.add(enforced)
}

// at15 is the scene five seconds after the switch to Enforce.
func at15() frame {
	return frame{
		phase: enforcePhase, elapsed: 15 * time.Second, now: after(15*time.Second - 300*time.Millisecond), rules: enforcedAtTen(),
		policy: policyView{printed: "NAME    MODE      DUE\nbatch   Enforce   0\n"},
		jobs: []job{
			{namespace: shop, name: "early", finished: after(1 * time.Second), ran: true, gone: after(10*time.Second + 32*time.Millisecond)},
			{namespace: shop, name: "on-time", finished: after(3 * time.Second), ran: true, gone: after(11*time.Second + 4*time.Millisecond)},
			{namespace: shop, name: "waits", finished: after(4 * time.Second), failed: true, ran: true, pods: 1},
			{namespace: shop, name: "held", finished: after(2 * time.Second), held: true, ran: true, pods: 1},
			{namespace: shop, name: "runs", ran: true, pods: 1},
			{namespace: golden, name: "excluded", finished: after(2 * time.Second), ran: true, pods: 1},
			{namespace: system, name: "protected", finished: after(2 * time.Second), ran: true, pods: 1},
		},
	}
}

func plansOf(f frame) []plan {
	var plans []plan
	for _, j := range f.jobs {
		plans = append(plans, plan{namespace: j.namespace, name: j.name, stays: j.gone.IsZero()})
	}
	return plans
}

// compareGolden compares text with testdata/name.
func compareGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	expect.NoError(t, err)
	expect.Equal(t, name, string(want), text)
}

func text(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func TestFrame(t *testing.T) {
	compareGolden(t, "frame.txt", text(at15().lines(false, 120, 40)))
}

func TestFrameInColour(t *testing.T) {
	compareGolden(t, "frame-colour.txt", strings.ReplaceAll(text(at15().lines(true, 120, 40)), "\x1b", "^"))
}

func TestFrameOfADryRun(t *testing.T) {
	f := at15()
	f.phase, f.now, f.elapsed, f.rules = dryRunPhase, after(9500*time.Millisecond), 9500*time.Millisecond, f.rules[:1]
	for i := range f.jobs {
		f.jobs[i].gone = time.Time{}
	}
	compareGolden(t, "frame-dry-run.txt", text(f.lines(false, 120, 40)))
}

func TestFrameOfAPolicyThatWaitsForApproval(t *testing.T) {
	f := at15()
	f.policy.status.PendingApproval = &v1alpha1.PendingApproval{}
	if got := text(f.lines(false, 120, 40)); strings.Contains(got, "will be deleted") || !strings.Contains(got, "would be deleted in 10s") {
		t.Error(got)
	}
}

func TestFrameOnASmallScreen(t *testing.T) {
	f := at15()
	f.help = help("/tmp/kubeconfig", "/tmp/sunset-controller.log")
	lines := f.lines(false, 80, 22)
	compareGolden(t, "frame-small.txt", text(lines))
	if len(lines) > 22 {
		t.Errorf("%d lines on a screen of 22", len(lines))
	}
}

func TestSummary(t *testing.T) {
	f := at15()
	compareGolden(t, "summary.txt", text(summaryOf(f, plansOf(f)).lines(false))+totalsOf(f).text(false)+"\n")
}

func TestPlainTellsOnlyNews(t *testing.T) {
	var out bytes.Buffer
	p, f := newPlain(&out), at15()
	p.show(f)
	f.now, f.elapsed = after(16*time.Second), 16*time.Second
	p.show(f)
	f.jobs[4].finished = after(16 * time.Second)
	p.show(f)
	compareGolden(t, "plain.txt", out.String())
}

func TestCutKeepsColours(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"short":                     {"abc", "abc"},
		"long":                      {"abcdefgh", "abcde"},
		"letters, not bytes":        {"äöüßéè", "äöüßé"},
		"a colour has no width":     {"ab\x1b[31mcde\x1b[0mfgh", "ab\x1b[31mcde\x1b[0m"},
		"a colour ends after a cut": {"abcd\x1b[31mefgh\x1b[0m", "abcd\x1b[31me\x1b[0m"},
		"an empty line":             {"", ""},
	} {
		if got := cut(c.line, 5); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
