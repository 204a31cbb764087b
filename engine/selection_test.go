// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestSelectionFindsEveryRuleThatSelects: for random selectors and labels, a rule that the Selection leaves out does not
// select the object, and reads no mark of it.
func TestSelectionFindsEveryRuleThatSelects(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	left := 0
	for range 50 {
		rules, marks := randomSelectors(t, random)
		selection, evaluator := engine.NewSelection(rules), fixture.Compiler(t).NewEvaluator(t.Context())
		for range 50 {
			object := labelled(t, random, marks)
			found := selection.Of(object)
			if !slices.IsSorted(found) || len(slices.Compact(slices.Clone(found))) != len(found) {
				t.Fatalf("found %v", found)
			}
			for i, rule := range rules {
				if slices.Contains(found, i) {
					continue
				}
				left++
				if f := evaluator.Facts(rule, object); f.Selected || !f.Start.IsZero() || f.Err != nil {
					t.Fatalf("rule %d is left out for %v: %+v", i, object, f)
				}
			}
		}
		evaluator.Close()
	}
	if left == 0 {
		t.Error("no rule was left out")
	}
}

var someValues = []string{"", "a", "b", "c"}

// randomSelectors returns rules with random selectors, and the marks that every other rule reads.
func randomSelectors(t *testing.T, random *rand.Rand) (rules []*engine.Program, marks []string) {
	for i := range 1 + random.Intn(12) {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for range random.Intn(3) {
			selector.MatchLabels[fmt.Sprint("k", random.Intn(3))] = someValues[random.Intn(4)]
		}
		for range random.Intn(2) {
			requirement := metav1.LabelSelectorRequirement{Key: fmt.Sprint("k", random.Intn(3))}
			switch random.Intn(4) {
			case 0:
				requirement.Operator, requirement.Values = metav1.LabelSelectorOpIn, someValues[:1+random.Intn(3)]
			case 1:
				requirement.Operator, requirement.Values = metav1.LabelSelectorOpNotIn, someValues[:1+random.Intn(3)]
			case 2:
				requirement.Operator = metav1.LabelSelectorOpExists
			default:
				requirement.Operator = metav1.LabelSelectorOpDoesNotExist
			}
			selector.MatchExpressions = append(selector.MatchExpressions, requirement)
		}
		loadedRule, program := loaded(t, types.UID(fmt.Sprint("u", i)), func(r *v1alpha1.Rule) {
			r.Target.Selector = selector
			if i%2 == 0 {
				r.StartTime = ""
			}
		})
		rules = append(rules, program)
		if loadedRule.Mark != "" {
			marks = append(marks, loadedRule.Mark)
		}
	}
	return rules, marks
}

// labelled returns a Job with random labels and maybe a mark.
func labelled(t *testing.T, random *rand.Rand, marks []string) map[string]any {
	set := map[string]any{}
	for i := range random.Intn(4) {
		set[fmt.Sprint("k", i)] = someValues[random.Intn(4)]
	}
	job := object(t, "job-complete")
	metadata := job["metadata"].(map[string]any)
	metadata["labels"] = set
	if len(marks) > 0 && random.Intn(2) == 0 {
		metadata["annotations"] = map[string]any{
			v1alpha1.EligibleSinceAnnotation: fmt.Sprintf(`{%q: "2026-03-02T12:00:00Z"}`, marks[random.Intn(len(marks))]),
		}
	}
	return job
}

// BenchmarkSelection finds the one of a thousand rules that selects an object.
func BenchmarkSelection(b *testing.B) {
	var rules []*engine.Program
	for i := range 1000 {
		_, program := loaded(b, "u", func(r *v1alpha1.Rule) {
			r.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"managed-by": "ci", "team": fmt.Sprint(i)}}
		})
		rules = append(rules, program)
	}
	selection := engine.NewSelection(rules)
	object := map[string]any{"metadata": map[string]any{"labels": map[string]any{"managed-by": "ci", "team": "7", "app": "web"}}}
	expect.Equal(b, "rules", []int{7}, selection.Of(object))
	b.ReportAllocs()
	for b.Loop() {
		selection.Of(object)
	}
}
