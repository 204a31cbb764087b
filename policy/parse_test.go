// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	unknownField  = ": unknown field (check the spelling and the indentation; fields of newer versions of Sunset are rejected too)"
	nullField     = ": null (write a value, or leave the field out)"
	repeatedField = ": repeated field (write it once: only the last value would apply)"
	blankEligible = "spec.rules[0].eligible: empty (write a CEL expression, or leave the field out if every selected object is eligible)"
)

func TestParseReadsEveryField(t *testing.T) {
	d := parse(t, `{
		"apiVersion": "sunset-k8s.io/v1alpha1", "kind": "ClusterRetentionPolicy",
		"metadata": {"name": "batch", "uid": "u", "generation": 3},
		"spec": {
			"mode": "Enforce",
			"namespaceSelector": {"matchLabels": {"tier": "ci"}},
			"excludeNamespaces": ["golden"],
			"variables": [{"name": "done", "expression": "finished(object)"}],
			"rules": [{
				"name": "jobs",
				"target": {"apiVersion": "batch/v1", "kind": "Job", "selector": {"matchLabels": {"team": "data"}}},
				"eligible": "variables.done", "startTime": "finishedAt(object)", "ttl": "1d", "ttlExpression": "days(1)",
				"delete": {"propagationPolicy": "Orphan"}, "events": "PerObject"
			}]
		},
		"status": {"matched": 3, "fieldOfANewerSunset": true}
	}`)
	want := &policy.Document{
		TypeMeta: metav1.TypeMeta{APIVersion: "sunset-k8s.io/v1alpha1", Kind: "ClusterRetentionPolicy"},
		Metadata: metav1.ObjectMeta{Name: "batch", UID: "u", Generation: 3},
		Spec: policy.Spec{
			Mode:              v1alpha1.Enforce,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "ci"}},
			ExcludeNamespaces: []string{"golden"},
			Variables:         []v1alpha1.Variable{{Name: "done", Expression: "finished(object)"}},
			Rules: []v1alpha1.Rule{{
				Name: "jobs",
				Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job",
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "data"}}},
				Eligible: "variables.done", StartTime: "finishedAt(object)", TTL: "1d", TTLExpression: "days(1)",
				Delete: &v1alpha1.Delete{PropagationPolicy: metav1.DeletePropagationOrphan}, Events: v1alpha1.EventsPerObject,
			}},
		},
	}
	expect.Equal(t, "document", want, d)
	if len(d.Problems) > 0 {
		t.Errorf("problems %v, want none", d.Problems)
	}
}

func TestParseIsStrict(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"an unknown field beside spec":       {`{"specs": {}, "spec": {"rules": []}}`, []string{"specs: unknown field (leave it out: spec is set too)"}},
		"an unknown field of spec":           {`{"spec": {"rulez": []}}`, []string{"spec.rulez: unknown field (did you mean rules?)"}},
		"a field with other capital letters": {`{"spec": {"Rules": []}}`, []string{"spec.Rules: unknown field (did you mean rules?)"}},
		"an unknown field of a selector":     {`{"spec": {"namespaceSelector": {"matchLabel": {}}}}`, []string{"spec.namespaceSelector.matchLabel: unknown field (did you mean matchLabels?)"}},
		"an unknown field of a variable":     {`{"spec": {"variables": [{"names": "x"}]}}`, []string{"spec.variables[0].names: unknown field (did you mean name?)"}},
		"an unknown field of a rule":         {`{"spec": {"rules": [{}, {"tll": "1d"}]}}`, []string{"spec.rules[1].tll: unknown field (did you mean ttl?)"}},
		"an unknown field deep in a rule":    {`{"spec": {"rules": [{"target": {"selector": {"match": 1}}}]}}`, []string{`spec.rules[0].target.selector.match: match belongs in matchLabels, not in rules[0].target.selector (write selector: {matchLabels: {match: "1"}})`}},
		"a repeated field of spec":           {`{"spec": {"mode": "DryRun", "mode": "Enforce"}}`, []string{"spec.mode" + repeatedField}},
		"a repeated field of a rule":         {`{"spec": {"rules": [{"ttl": "1h", "ttl": "9d"}]}}`, []string{"spec.rules[0].ttl" + repeatedField}},
		"two rules with unknown fields":      {`{"spec": {"rules": [{"a": 1}, {"b": 2}]}}`, []string{"spec.rules[0].a" + unknownField, "spec.rules[1].b" + unknownField}},
		"no spec":                            {`{"metadata": {"name": "x"}}`, []string{"spec: missing (a policy needs spec.rules)"}},
		"a field of another type in spec":    {`{"spec": {"excludeNamespaces": "x"}}`, []string{"spec.excludeNamespaces: string given, array expected (write [\"x\"]: it is a list)"}},
		"a field of another type in a rule":  {`{"spec": {"rules": [{"ttl": 3}]}}`, []string{`spec.rules[0].ttl: number given, string expected (a duration is a number and a unit, such as "7d")`}},
		"a percentage":                       {`{"spec": {"approval": {"maxPercent": "50%"}}}`, []string{"spec.approval.maxPercent: string given, int32 expected (write 50)"}},
		"a label that is not a string":       {`{"spec": {"namespaceSelector": {"matchLabels": {"a": "b", "c": true}}}}`, []string{`spec.namespaceSelector.matchLabels.c: bool given, string expected (write it in quotes: without them YAML reads yes, no, on, off, true and false as booleans)`}},
		"a label that is a number":           {`{"spec": {"namespaceSelector": {"matchLabels": {"v": 1.1}}}}`, []string{"spec.namespaceSelector.matchLabels.v: number given, string expected (write it in quotes: without them YAML reads this as a number)"}},
		"values that are not strings":        {`{"spec": {"namespaceSelector": {"matchExpressions": [{"values": [true]}]}}}`, []string{"spec.namespaceSelector.matchExpressions.values: bool given, string expected (write it in quotes: without them YAML reads yes, no, on, off, true and false as booleans)"}},
		"an empty eligible":                  {`{"spec": {"rules": [{"eligible": ""}]}}`, []string{blankEligible}},
		"an eligible of null":                {`{"spec": {"rules": [{"eligible": null}]}}`, []string{blankEligible}},
		"a bool for an expression":           {`{"spec": {"rules": [{"eligible": true}]}}`, []string{`spec.rules[0].eligible: bool given, string expected (write "true": YAML reads it as a boolean without quotes)`}},
		"a string for delete":                {`{"spec": {"rules": [{"delete": "Owner"}]}}`, []string{"spec.rules[0].delete: string given, object expected (write delete: {target: Owner})"}},
		"a list of conditions":               {`{"spec": {"rules": [{"eligible": ["a || b", "c"]}]}}`, []string{`spec.rules[0].eligible: array given, string expected (join conditions with &&: "(a || b) && c")`}},
		"an expression below a field":        {`{"spec": {"rules": [{"startTime": {"cel": "a"}}]}}`, []string{"spec.rules[0].startTime: object given, string expected (write the expression alone: a)"}},
		"a number for a ttlExpression":       {`{"spec": {"rules": [{"ttlExpression": 7}]}}`, []string{"spec.rules[0].ttlExpression: number given, string expected (write days(7))"}},
		"namespaces by name":                 {`{"spec": {"namespaceSelector": {"matchNames": ["dev"]}}}`, []string{"spec.namespaceSelector.matchNames: unknown field (select namespaces by label, such as namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: dev}}, or write a RetentionPolicy)"}},
		"a rule of another type":             {`{"spec": {"rules": ["x"]}}`, []string{"spec.rules[0]: string given, object expected"}},
		"unknown metadata is ignored":        {`{"metadata": {"fieldOfANewerKubernetes": 1}, "spec": {}}`, nil},
		"null is absent":                     {`{"spec": {"mode": null, "rules": null}}`, nil},
		"no selector":                        {`{"spec": {"namespaceSelector": null, "rules": [{"nodeSelector": null, "target": {"selector": null}}]}}`, []string{"spec.namespaceSelector" + nullField, "spec.rules[0].target.selector" + nullField, "spec.rules[0].nodeSelector" + nullField}},
		"no labels":                          {`{"spec": {"namespaceSelector": {"matchLabels": null}, "rules": [{"target": {"selector": {"matchLabels": null}}}]}}`, []string{"spec.namespaceSelector.matchLabels" + nullField, "spec.rules[0].target.selector.matchLabels" + nullField}},
		"no value of a label":                {`{"spec": {"excludeNamespaces": [], "namespaceSelector": {"matchLabels": {"b": null, "a": null, "c": "d"}}, "rules": [{"nodeSelector": {"matchLabels": {"team": null}}}]}}`, []string{"spec.namespaceSelector.matchLabels.a" + nullField, "spec.namespaceSelector.matchLabels.b" + nullField, "spec.rules[0].nodeSelector.matchLabels.team" + nullField}},
		"no expressions":                     {`{"spec": {"namespaceSelector": {"matchExpressions": null}}}`, []string{"spec.namespaceSelector.matchExpressions" + nullField}},
		"no excluded namespaces":             {`{"spec": {"excludeNamespaces": null}}`, []string{"spec.excludeNamespaces" + nullField}},
		"empty selectors":                    {`{"spec": {"namespaceSelector": {}, "excludeNamespaces": [], "rules": [{"target": {"selector": {"matchLabels": {}}}}]}}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "problems", test.want, policy.Lines(parse(t, test.text).Problems))
		})
	}
}

func TestParseRefusesWhatIsNoPolicyAtAll(t *testing.T) {
	for name, text := range map[string]string{
		"an empty text":           "",
		"not JSON":                "kind: ClusterRetentionPolicy",
		"a list":                  "[]",
		"a name that is a number": `{"metadata": {"name": 1}}`,
		"a kind that is a number": `{"kind": 1}`,
		"text after the end":      `{"spec": {}} {}`,
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := policy.Parse([]byte(text)); err == nil {
				t.Errorf("got %+v, want an error", d)
			}
		})
	}
}

func TestParseNamesTheFieldOfTheMetadata(t *testing.T) {
	for text, want := range map[string]string{
		`{"metadata": {"name": false}}`:             "metadata.name: bool given, string expected (write it in quotes: without them YAML reads this as a boolean)",
		`{"metadata": {"name": 2024}}`:              "metadata.name: number given, string expected (write it in quotes: without them YAML reads this as a number)",
		`{"metadata": {"labels": {"a": ["b"]}}}`:    "metadata.labels: array given, string expected",
		`{"metadata": {"generation": "the first"}}`: "metadata.generation: string given, int64 expected",
	} {
		if _, err := policy.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestParseKeepsWhatAnUnreadableRuleIsAbout(t *testing.T) {
	const target = `"name": "r", "target": {"apiVersion": "batch/v1", "kind": "Job", "selector": {"matchLabels": {"a": "b"}}}`
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	tests := map[string]struct {
		rule string
		want v1alpha1.Target
	}{
		"another field has another type": {
			`{` + target + `, "ttl": 3}`,
			v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job", Selector: selector}},
		"the name has another type": {
			strings.Replace(`{`+target+`}`, `"r"`, `["r"]`, 1),
			v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job", Selector: selector}},
		"the selector has another type: it selects all objects of the kind": {
			strings.Replace(`{`+target+`}`, `{"a": "b"}`, `{"a": "b", "c": 1}`, 1),
			v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"}},
		"the kind has another type: the rest of the target is kept": {
			strings.Replace(`{`+target+`}`, `"Job"`, `1`, 1),
			v1alpha1.Target{APIVersion: "batch/v1", Selector: selector}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := parse(t, `{"spec": {"rules": [`+test.rule+`, {"name": "other", "eligible": "true"}]}}`)
			expect.Equal(t, "target", test.want, d.Spec.Rules[0].Target)
			if got := d.Spec.Rules[1]; got.Name != "other" || got.Eligible != "true" {
				t.Errorf("the other rule is %+v", got)
			}
			if len(d.Problems) != 1 {
				t.Errorf("problems %v, want one", d.Problems)
			}
		})
	}
}
