package retention_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// Without a Ledger what is to be counted exactly stays, and delays nothing else.
func TestWithoutALedgerWhatIsToBeCountedStays(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *world) {
		counted := func(r *policy.Rule) { r.Ledger = true }
		w.use(rule("counted", counted), rule("free", about(pods)))
		for n := range 2 {
			switch s := w.source(n); s.asked().Kind {
			case jobs:
				s.list(rows("job-", 20, w.began)...)
			case pods:
				s.list(row("pod", w.began))
			}
		}
		w.after(24 * time.Hour)
		expect(t, "removed", []string{"pod"}, w.removed())
		expect(t, "attempted", []string{"pod@1"}, w.attempted())
	})
}
