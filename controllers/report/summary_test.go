package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestTheLogSumsUpEachPolicy once a minute, if something has changed, and at the end.
func TestTheLogSumsUpEachPolicy(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		e := w.create(policyOf(v1alpha1.Enforce, rule("a")), noStatus)
		due := func(n int) {
			var rows []*index.Row
			for i := range n {
				start := time.Now().Add(-2 * time.Hour)
				rows = append(rows, row(fmt.Sprintf("x-%02d", i), start, yes(start)))
			}
			w.set(func() { w.kinds = []retention.KindState{kindOf(e, time.Now(), rows...)} })
			w.Changed()
		}
		due(3)
		w.after(30 * time.Second)
		expect(t, "within the first minute", nil, w.log("policy summary"))
		w.removed(3, rule("a"))
		due(0)
		w.after(time.Hour)
		w.removed(2, rule("a"))
		w.after(10 * time.Second)
		w.removed(1, rule("a"))
		w.after(10 * time.Second)
		w.stop()
		line := `"policy"="p" "deleted"=%d "in"=%q "due"=0 "held"=0 "blocked"=0 "errors"=0`
		expect(t, "lines", []string{
			fmt.Sprintf(line, 3, "1m0s"), fmt.Sprintf(line, 3, "50s"),
		}, w.log("policy summary"))
	})
}
