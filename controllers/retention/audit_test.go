// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestAudit: the audit gets each request that deleted a subject, or that may have, with the policy in force. It gets no request
// that certainly deleted nothing.
func TestAudit(t *testing.T) {
	outcomes := []retention.Outcome{
		{Result: retention.Busy, Err: errors.New("busy")},
		{Result: retention.Failed, Unsure: true, Err: errors.New("no answer")},
		{Result: retention.Refused, Err: errors.New("no")},
		{Result: retention.Removed},
	}
	var written []retention.Removal
	options, all := recording(retention.Options{Audit: func(r retention.Removal) { written = append(written, r) }})
	inBubble(t, options, func(t *testing.T, w *harness) {
		w.onEachDelete(func() retention.Outcome {
			next := outcomes[0]
			outcomes = outcomes[1:]
			return next
		})
		size := policy.Size{Bytes: 7, Class: "fast"}
		w.listed(row("x", w.began, func(d *draft) { d.Facts.Size = size }))
		bubble.Pass(5 * time.Hour)
		expect.Equal(t, "records", 2, len(written))
		for i, r := range written {
			expect.Equal(t, "unsure", i == 0, r.Unsure)
			expect.Equal(t, "policy", r.Rule.ID.Policy, r.Policy.Name)
			expect.Equal(t, "target", policy.TargetOf(r.Kind, r.Subject), r.Target)
			expect.Equal(t, "reason", policy.Expired, r.Reason)
			expect.Equal(t, "size", size, r.Size)
			if r.TraceID == "" {
				t.Error("no trace")
			}
		}
		if last := all.GetSpans(); written[1].TraceID != last[len(last)-1].SpanContext.TraceID().String() {
			t.Errorf("trace %s is not the last", written[1].TraceID)
		}
	})
}
