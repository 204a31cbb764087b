// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestListsHaveTheirDefaultsWritten: lists contain the defaults that the API server would add. kubectl apply and Argo CD
// replace these lists as a whole, and would otherwise change them each time.
func TestListsHaveTheirDefaultsWritten(t *testing.T) {
	defaults := []struct {
		kind, field string
		lists       [][]string // each further path is relative to an item of the previous list
	}{
		{"ValidatingAdmissionPolicy", "scope", [][]string{{"spec", "matchConstraints", "resourceRules"}}},
		{"ValidatingWebhookConfiguration", "scope", [][]string{{"webhooks"}, {"rules"}}},
		{"NetworkPolicy", "protocol", [][]string{{"spec", "ingress"}, {"ports"}}},
		{"NetworkPolicy", "protocol", [][]string{{"spec", "egress"}, {"ports"}}},
	}
	for _, values := range []string{"default", "everything", "cert-manager"} {
		rendered := objects(t, render(t, "--values", sets(t)[values]))
		for _, d := range defaults {
			checked := 0
			for _, object := range rendered {
				if object.GetKind() != d.kind {
					continue
				}
				for _, item := range items(object.Object, d.lists) {
					checked++
					if item[d.field] == nil {
						t.Errorf("%s: %s %s: an item of %v has no %s: %v", values, d.kind, object.GetName(), d.lists, d.field, item)
					}
				}
			}
			if checked == 0 {
				t.Errorf("%s: no %s has items of %v", values, d.kind, d.lists)
			}
		}
	}
}

// items returns the items of the innermost lists.
func items(object map[string]any, lists [][]string) []map[string]any {
	if len(lists) == 0 {
		return []map[string]any{object}
	}
	var all []map[string]any
	list, _, _ := unstructured.NestedSlice(object, lists[0]...)
	for _, item := range list {
		all = append(all, items(item.(map[string]any), lists[1:])...)
	}
	return all
}
