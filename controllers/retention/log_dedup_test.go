// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestLogDedup: of thousands of equal errors, the log has one line at info, and one line a minute that counts
// the others. No line is dropped.
func TestLogDedup(t *testing.T) {
	var s logDedup
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	began := fixture.Now
	var levels []int
	say := func(result string, after time.Duration) {
		levels = append(levels, s.level("not deleted", result, began.Add(after)))
	}
	sumUp := func(after time.Duration) { s.sumUp(ctx, "Job", began.Add(after)) }
	say("refused", 0)
	say("refused", time.Second)
	say("denied", time.Second)
	say("refused", time.Minute-1)
	sumUp(time.Minute - 1)
	sumUp(time.Minute)
	sumUp(2 * time.Minute) // there was only one "denied" line
	say("refused", 2*time.Minute)
	sumUp(10 * time.Minute)
	if want := []int{0, 1, 0, 1, 0}; !slices.Equal(levels, want) {
		t.Errorf("levels %v, want %v", levels, want)
	}
	want := []string{`"level"=0 "msg"="not deleted, and more" "kind"="Job" "result"="refused" "more"=2 "in"="1m0s"`}
	expect.Equal(t, "lines", want, lines)
}
