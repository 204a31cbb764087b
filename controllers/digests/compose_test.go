// SPDX-License-Identifier: Apache-2.0

package digests_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/digests"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// decoding is a reader that decodes each page of policies into the list of the caller, as a client does.
type decoding struct{ *harness }

// List implements client.Reader.
func (d decoding) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	into, ok := list.(*v1alpha1.ClusterRetentionPolicyList)
	if !ok {
		return d.harness.List(ctx, list, options...)
	}
	page := v1alpha1.ClusterRetentionPolicyList{}
	begin, _ := strconv.Atoi(asked.Continue)
	end := min(begin+int(asked.Limit), len(d.policies))
	if end < len(d.policies) {
		page.Continue = strconv.Itoa(end)
	}
	page.Items = d.policies[begin:end]
	text, err := json.Marshal(page)
	if err != nil {
		return err
	}
	into.Continue = "" // an API server sends it even if it is empty
	return json.Unmarshal(text, into)
}

// TestPagesOfPolicies: policies of one page do not change those of another.
func TestPagesOfPolicies(t *testing.T) {
	h := newHarness(t)
	h.add("d")
	for i := range 150 {
		h.addPolicy(fmt.Sprintf("p%03d", i), int64(i))
		p := &h.policies[i]
		p.Spec.Rules = []v1alpha1.Rule{{Name: "r" + p.Name, Target: v1alpha1.Target{APIVersion: "v1", Kind: "Kind" + p.Name}}}
		p.Status.Rules = []v1alpha1.RuleStatus{{Name: "r" + p.Name, Soonest: []v1alpha1.DueSample{{Name: "of-" + p.Name, DueTime: metav1.NewTime(created.Add(time.Hour))}}}}
	}
	h.Notifier = digests.New(digests.Options{Cache: h, Client: h, Live: decoding{h}, State: h, Leadership: h, Clock: h.clock, Namespace: "sunset-system"})
	h.ConnectTo(h.receiver.Listener.Addr().String())
	h.at(time.Hour)
	for i, counted := range h.status("d").Counted {
		expect.Equal(t, string(counted.PolicyUID), int64(i), counted.Deleted)
	}
	got := h.received()
	expect.Equal(t, "requests", 1, len(got))
	for _, listed := range dataOf(t, got[0])["policies"].([]any) {
		p := listed.(map[string]any)
		soonest, _ := p["soonest"].([]any)
		if len(soonest) != 1 || soonest[0].(map[string]any)["name"] != "of-"+p["name"].(string) || soonest[0].(map[string]any)["kind"] != "Kind"+p["name"].(string) {
			t.Errorf("policy %s has the objects %v", p["name"], soonest)
		}
	}
}
