// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestReceiptOfAnotherPolicy: a record names the policy that deletes the object, also if another policy had it recorded before, with
// the same settings. The record of the other policy says that it did not delete the object.
func TestReceiptOfAnotherPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		after  time.Duration // the record of the first policy began
		change func(*policy.Rule)
	}{
		"another policy":                          {time.Second, func(r *policy.Rule) { r.ID.Policy = "q" }},
		"another rule":                            {time.Second, func(r *policy.Rule) { r.ID.Rule = "q" }},
		"another policy of the name":              {time.Second, func(r *policy.Rule) { r.PolicyUID = "q" }},
		"before the segment of the first is full": {100 * time.Millisecond, func(r *policy.Rule) { r.ID.Policy = "q" }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				h.answer = func(*subject) *retention.Outcome { return &retention.Outcome{Result: retention.Busy, Err: errDown} }
				s, other := h.know(h.rule("p"), "one"), h.rule("p", test.change)
				s.attempt()
				bubble.Pass(test.after)
				h.set(func() { s.rule, h.answer = other, nil })
				s.attempt()
				bubble.Pass(10 * time.Second)
				expect.Equal(t, "deleted", []string{"one"}, h.names())
				record := h.record(h.stores["mem://history"], "one")
				expect.Equal(t, "by", other.ID.String()+" "+string(other.PolicyUID), record.Policy+"/"+record.Rule+" "+string(record.PolicyUID))
				expect.Equal(t, "results of the policy", []archive.Result{archive.Deleted}, h.resultsOf(other.ID.Policy))
				if other.ID.Policy != "p" {
					expect.Equal(t, "results of the first", []archive.Result{archive.Kept}, h.resultsOf("p"))
				}
			})
		})
	}
}

// resultsOf are the results of the records of a policy.
func (h *harness) resultsOf(name string) (all []archive.Result) {
	found, err := (&archive.Reader{Bucket: h.stores["mem://history"]}).Find(h.Context(), archive.Query{Policy: name})
	expect.NoError(h, err)
	for _, m := range found {
		all = append(all, m.Result)
	}
	return all
}
