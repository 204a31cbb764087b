// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// claimProgram returns the program of a rule about PersistentVolumeClaims without a startTime, and the name of its mark.
func claimProgram(t *testing.T, eligible string) (program *engine.Program, mark string) {
	t.Helper()
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "p", UID: "u"}, Spec: policy.Spec{Mode: v1alpha1.Enforce, Rules: []v1alpha1.Rule{
		{Name: "claims", Target: v1alpha1.Target{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, Eligible: eligible, TTL: "1d"},
	}}}
	p := d.Load(policy.Protection{}.Allow("PersistentVolumeClaim"))
	programs := fixture.Compiler(t).Load(p)
	if len(p.Problems) > 0 || p.Rules[0].Invalid() {
		t.Fatal(p.Problems, p.Rules[0].Problems)
	}
	return programs[p.Rules[0].Key], p.Rules[0].Mark
}

// TestStartOfAnUnusedClaim: the time to live of a claim starts at the later of its mark and the last change of its condition Unused
// (KEP-5541).
func TestStartOfAnUnusedClaim(t *testing.T) {
	const unreferenced, asks = "references.count == 0", "2026-03-02T12:00:00Z"
	marked := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	later := marked.Add(time.Hour)
	condition := func(status, changed string) string {
		return fmt.Sprintf(`{type: Unused, status: %q, reason: NoPodsUsingPVC, lastTransitionTime: %s}`, status, changed)
	}
	for name, test := range map[string]struct {
		eligible   string
		mark       string
		conditions string
		want       time.Time
		earlier    time.Time // the mark, if the start is later
		err        string
	}{
		"no condition":                          {unreferenced, asks, "", marked, time.Time{}, ""},
		"another condition":                     {unreferenced, asks, `{type: Resizing, status: "True", lastTransitionTime: "2026-03-02T13:00:00Z"}`, marked, time.Time{}, ""},
		"a condition that changed later":        {unreferenced, asks, condition("True", `"2026-03-02T13:00:00Z"`), later, marked, ""},
		"a condition that changed before":       {unreferenced, asks, condition("True", `"2026-03-02T11:00:00Z"`), marked, time.Time{}, ""},
		"one that is not True, and changed":     {unreferenced, asks, condition("False", `"2026-03-02T13:00:00Z"`), later, marked, ""},
		"among others":                          {unreferenced, asks, `{type: Resizing, status: "True"}, ` + condition("True", `"2026-03-02T13:00:00Z"`), later, marked, ""},
		"not marked yet":                        {unreferenced, "", condition("True", `"2026-03-02T13:00:00Z"`), time.Time{}, time.Time{}, ""},
		"a condition that does not say when":    {unreferenced, asks, condition("True", "null"), marked, time.Time{}, "condition Unused has no lastTransitionTime"},
		"a time that cannot be read":            {unreferenced, asks, condition("True", "soon"), marked, time.Time{}, "condition Unused: lastTransitionTime: "},
		"neither marked nor known when":         {unreferenced, "", condition("True", "null"), time.Time{}, time.Time{}, "condition Unused has no lastTransitionTime"},
		"a rule that does not ask about uses":   {"true", asks, condition("True", `"2026-03-02T13:00:00Z"`), marked, time.Time{}, ""},
		"a claim that the rule does not select": {unreferenced + " && false", asks, condition("True", `"2026-03-02T13:00:00Z"`), marked, time.Time{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			program, mark := claimProgram(t, test.eligible)
			claim := fixture.Decode(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [`+test.conditions+`]}}`)
			if test.mark != "" {
				claim["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.EligibleSinceAnnotation: fmt.Sprintf(`{%q:%q}`, mark, test.mark)}
			}
			e := fixture.Compiler(t).NewEvaluator(t.Context())
			defer e.Close()
			e.SetReferences(referredBy())
			got := e.Facts(program, claim)
			expect.Equal(t, "start", test.want, got.Start)
			expect.Equal(t, "earlier mark", test.earlier, got.EarlierMark)
			if message := fmt.Sprint(got.Err); (got.Err == nil) != (test.err == "") || !strings.HasPrefix(message, test.err) && got.Err != nil {
				t.Errorf("error %s, want %s", message, test.err)
			}
		})
	}
}
