// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPageShowsTargetsAndSelected: the first targets that do not exist, the number of the others, and the number of selected objects.
func TestPageShowsTargetsAndSelected(t *testing.T) {
	page := explained(t, always, job, func(in *explain.Input) {
		in.Asked = policy.AsksTargets | policy.AsksSelected
		in.References = &engine.References{Targets: 14, Selected: 3, Missing: func() (all []engine.Referrer) {
			for i := range 12 {
				all = append(all, engine.Referrer{Kind: "Service", Namespace: "team-a", Name: fmt.Sprintf("s%02d", i)})
			}
			return all
		}}
	})
	var text strings.Builder
	expect.NoError(t, page.WriteText(&text))
	for _, want := range []string{
		"\nRefers to objects that do not exist:\n  Service team-a/s00\n", "  Service team-a/s09\n  and 2 more\n", "\nSelects:\n  3 Pods and Pod templates\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	page.Selected.Count = 1
	text.Reset()
	expect.NoError(t, page.WriteText(&text))
	if want := "\nSelects:\n  1 Pod or Pod template\n"; !strings.Contains(text.String(), want) {
		t.Errorf("%q is not in\n%s", want, text.String())
	}
	data, err := json.Marshal(page.Targets)
	expect.NoError(t, err)
	if !strings.HasPrefix(string(data), `{"count":14,"missing":[{"kind":"Service","namespace":"team-a","name":"s00"},`) || !strings.HasSuffix(string(data), `],"more":2}`) {
		t.Errorf("JSON: %s", data)
	}
}
