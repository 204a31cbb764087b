// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"testing"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// FuzzRemovalCounters starts from any report. New removals are added to it, with one entry for each policy and rule. The counts of a
// deleted report are subtracted. Callers cannot change the counters.
func FuzzRemovalCounters(f *testing.F) {
	for _, text := range []string{
		`{}`,
		`{"removed":{"images":3,"bytes":30},"policies":[{"name":"p","uid":"uid-p","removed":{"images":3,"bytes":30},"rules":[{"name":"old","removed":{"images":3}}]}]}`,
		`{"removed":{"images":-1},"policies":[{"uid":"uid-p","removed":{"images":-7}},{"uid":"uid-p","removed":{"images":1},"rules":[{"name":"old"},{"name":"old"}]}]}`,
		`{"removed":{"images":9223372036854775807},"policies":[{"removed":{"images":9223372036854775807},"rules":[{"removed":{"images":1}}]}]}`,
		`{"policies":[{"name":"p","uid":"other","removed":{"images":2}},{"name":"p","uid":"uid-p"}]}`,
	} {
		f.Add([]byte(text), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, removals int) {
		r := &v1alpha1.NodeImageReport{}
		if json.Unmarshal(data, r) != nil {
			t.Skip()
		}
		d := newRemovalCounters()
		d.resumeOnce(r)
		before, policies := d.policies()
		n := int64(max(0, removals) % 5)
		for range n {
			d.remove("p", "old")
		}
		total, reports := d.policies()
		if total.Images != before.Images+n || countOf(reports, "uid-p") != countOf(policies, "uid-p")+n {
			t.Errorf("%+v plus %d removals gives %+v, %+v", before, n, total, reports)
		}
		seen := map[string]bool{}
		for i := range reports {
			if p := &reports[i]; seen[string(p.UID)] {
				t.Errorf("policy %q is listed twice", p.UID)
			} else {
				seen[string(p.UID)] = true
				p.Removed.Images, p.Rules = 0, nil
			}
		}
		written := &v1alpha1.NodeImageReport{Removed: total}
		_, written.Policies = d.policies()
		d.remove("p", "old")
		d.startOver(written)
		if total, reports := d.policies(); total.Images != 1 || countOf(reports, "uid-p") != 1 {
			t.Errorf("got %+v: %+v, want one removal since the report was deleted", total, reports)
		}
	})
}

// countOf returns how many images a policy has removed.
func countOf(reports []v1alpha1.NodeImagePolicyReport, uid string) (n int64) {
	for _, p := range reports {
		if string(p.UID) == uid {
			n += p.Removed.Images
		}
	}
	return n
}
