// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestLogSumsUpEachPolicy once a minute if something has changed, and at the end.
func TestLogSumsUpEachPolicy(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		e := w.create(policyOf(v1alpha1.Enforce, rule("a")), noStatus)
		due := func(n int) {
			var rows []*index.FactRow
			for i := range n {
				start := time.Now().Add(-2 * time.Hour)
				rows = append(rows, row(fmt.Sprintf("x-%02d", i), start, yes(start)))
			}
			w.set(func() { w.kinds = []retention.KindState{kindOf(e, time.Now(), rows...)} })
			w.Changed()
		}
		due(3)
		bubble.Pass(30 * time.Second)
		expect.Equal(t, "within the first minute", nil, w.log("policy summary"))
		w.removed(3, rule("a"))
		due(0)
		bubble.Pass(time.Hour)
		w.removed(2, rule("a"))
		bubble.Pass(10 * time.Second)
		w.removed(1, rule("a"))
		bubble.Pass(10 * time.Second)
		w.stop()
		line := `"policy"="p" "deleted"=%d "in"=%q "due"=0 "held"=0 "blocked"=0 "errors"=0`
		expect.Equal(t, "lines", []string{
			fmt.Sprintf(line, 3, "1m0s"), fmt.Sprintf(line, 3, "50s"),
		}, w.log("policy summary"))
	})
}

// TestSummaryHasReasons why objects stay, and the first rule of another policy that keeps them.
func TestSummaryHasReasons(t *testing.T) {
	failing := map[string]policy.Facts{"b": {Selected: true, Err: errNo}}
	for name, test := range map[string]struct {
		scene situation
		want  string
	}{
		"no reason":                           {situation{}, ""},
		"another policy":                      {situation{facts: failing}, `"reasons"="EvaluationFailed (rule b of q keeps 1)"`},
		"another controller":                  {flagged(policy.OfFlux), `"reasons"="ManagedByFlux"`},
		"an admission webhook":                {delayed("Refused"), `"reasons"="Refused"`},
		"the pace, and another policy":        {situation{pace: 0.09, facts: failing}, `"reasons"="EvaluationFailed (rule b of q keeps 1)"`},
		"a suspended policy":                  {situation{p: inMode(v1alpha1.Suspend)}, `"reasons"="Suspended"`},
		"the pace":                            {situation{pace: 0.09}, `"reasons"="Paced"`},
		"the reason of Ready is not repeated": {situation{doubt: errNo}, `"notReady"="Stale"`},
	} {
		runInBubble(t, name, nil, func(t *testing.T, w *harness) {
			w.store(&policy.Policy{Name: "p", UID: "uid-p"}, noStatus)
			w.put(test.scene)
			bubble.Pass(2 * time.Minute)
			got := ""
			for _, line := range w.log("policy summary") {
				if strings.HasPrefix(line, `"policy"="p"`) {
					_, got, _ = strings.Cut(line, `"errors"=0`)
				}
			}
			expect.Equal(t, "at the end", test.want, strings.TrimSpace(got))
		})
	}
}
