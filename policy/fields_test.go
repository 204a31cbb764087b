// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// irrelevant are the fields that may differ between two equal values, and why.
type irrelevant map[string]string

// checkFields changes each field of a value in turn, structs field by field. It checks that differs reports each change, except
// changes of listed fields. A new field must be compared, or listed with a reason.
func checkFields[T any](t *testing.T, base func() *T, listed irrelevant, differs func(a, b *T) bool) {
	t.Helper()
	used := map[string]bool{}
	for _, path := range fieldsOf(reflect.TypeFor[T](), "") {
		t.Run(path, func(t *testing.T) {
			changed := base()
			field := reflect.ValueOf(changed).Elem()
			for name := range strings.SplitSeq(path, ".") {
				field = field.FieldByName(name)
			}
			change(t, field)
			_, skipped := listed[path]
			used[path] = skipped
			if got := differs(base(), changed); got == skipped {
				t.Errorf("reported: %v, listed as irrelevant: %v", got, skipped)
			}
		})
	}
	for path := range listed {
		if !used[path] {
			t.Errorf("%s is listed, and is not a field", path)
		}
	}
}

// fieldsOf are the exported fields of a struct, with the fields of nested structs instead of the structs.
func fieldsOf(of reflect.Type, prefix string) (paths []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct && f.Type.PkgPath() != "time" && f.Type != reflect.TypeFor[v1alpha1.Rule]():
			paths = append(paths, fieldsOf(f.Type, prefix+f.Name+".")...)
		default:
			paths = append(paths, prefix+f.Name)
		}
	}
	return paths
}

// change sets a different value.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch special := v.Addr().Interface().(type) {
	case *labels.Selector:
		*special = labels.SelectorFromSet(labels.Set{"changed": "yes"})
		return
	case *v1alpha1.Rule:
		special.Name = "changed"
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "changed")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	case reflect.Pointer:
		next := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			next.Elem().Set(v.Elem())
		}
		if next.Elem().Kind() == reflect.Struct {
			for i := range next.Elem().NumField() {
				if f := next.Elem().Field(i); f.CanSet() && f.Kind() == reflect.String {
					change(t, f)
				}
			}
		} else {
			change(t, next.Elem())
		}
		v.Set(next)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		change(t, key)
		changed := reflect.MakeMap(v.Type())
		changed.SetMapIndex(key, value)
		v.Set(changed)
	case reflect.Slice:
		element := reflect.New(v.Type().Elem()).Elem()
		if element.Kind() == reflect.Pointer {
			element.Set(reflect.New(element.Type().Elem()))
			if o, is := element.Interface().(*policy.Override); is {
				o.Suspend = true
			}
		}
		v.Set(reflect.Append(v, element))
	case reflect.Struct:
		if v.Type().PkgPath() == "time" {
			v.Set(reflect.ValueOf(now))
			return
		}
		t.Fatalf("cannot change a %s", v.Type())
	default:
		t.Fatalf("cannot change a %s", v.Type())
	}
}

// differInSettings compares the settings of two rules in both directions.
func differInSettings(t *testing.T, a, b *policy.Rule) bool {
	t.Helper()
	first, second := &policy.EffectiveRules{Rules: []*policy.Rule{a}}, &policy.EffectiveRules{Rules: []*policy.Rule{b}}
	same := first.SameSettings(second)
	if same != second.SameSettings(first) {
		t.Errorf("the comparison is not symmetric for %+v and %+v", a, b)
	}
	return !same
}

// TestRuleComparisonHasEveryField: a changed rule is evaluated again.
func TestRuleComparisonHasEveryField(t *testing.T) {
	checkFields(t, func() *policy.Rule { return enforced("p", "r") }, irrelevant{
		"Preferred.Group": "decides the version of a kind, which is part of the facts", "Preferred.Version": "likewise", "Preferred.Kind": "likewise",
		"Namespace":  "is part of the policy's name",
		"Index":      "is the position of the rule in spec.rules",
		"Spec":       "is the source of the other fields",
		"Relations":  "depends only on the expressions, and so on Key",
		"IfEnforced": "depends only on Overrides",
		"Gate":       "has the earlier state for a count",
	}, func(a, b *policy.Rule) bool { return differInSettings(t, a, b) })
}

// TestOverrideComparisonHasEveryField checks the comparison for evaluation, and the one for approval.
func TestOverrideComparisonHasEveryField(t *testing.T) {
	listed := irrelevant{"Path": "is the position of the override in spec.overrides"}
	base := func() *policy.Override { return hours(1) }
	t.Run("settings", func(t *testing.T) {
		checkFields(t, base, listed, func(a, b *policy.Override) bool {
			one, other := enforced("p", "r"), enforced("p", "r")
			overriding(a)(one)
			overriding(b)(other)
			return differInSettings(t, one, other)
		})
	})
	t.Run("approval", func(t *testing.T) {
		checkFields(t, base, listed, func(a, b *policy.Override) bool {
			snapshot := func(o *policy.Override) *policy.Snapshot {
				own := policyOf("team-a/own")
				own.Namespace, own.Overrides = "team-a", []*policy.Override{o}
				return policy.NewSnapshot([]*policy.Policy{own}, namespaces, policy.DefaultProtection())
			}
			return len(snapshot(b).Changed(snapshot(a))) > 0
		})
	})
}

// TestSpecHashHasEveryField: another version of a spec needs another approval.
func TestSpecHashHasEveryField(t *testing.T) {
	hash := func(d *policy.Document) string { return d.Load(policy.DefaultProtection()).Hash }
	document := func(change func(d *policy.Document)) *policy.Document {
		d := parse(t, `{"spec": {"rules": [`+ownRule+`]}}`)
		change(d)
		return d
	}
	t.Run("spec", func(t *testing.T) {
		checkFields(t, func() *policy.Spec { return &document(func(*policy.Document) {}).Spec }, irrelevant{
			"Mode": "sets whether the policy deletes", "Approval": "sets how much needs approval", "Limits": "sets how fast the policy deletes",
		}, func(a, b *policy.Spec) bool {
			return hash(document(func(d *policy.Document) { d.Spec = *a })) != hash(document(func(d *policy.Document) { d.Spec = *b }))
		})
	})
	t.Run("rule", func(t *testing.T) {
		checkFields(t, func() *v1alpha1.Rule { return &document(func(*policy.Document) {}).Spec.Rules[0] }, irrelevant{
			"Events": "sets how deletions are reported",
		}, func(a, b *v1alpha1.Rule) bool {
			return hash(document(func(d *policy.Document) { d.Spec.Rules = []v1alpha1.Rule{*a} })) !=
				hash(document(func(d *policy.Document) { d.Spec.Rules = []v1alpha1.Rule{*b} }))
		})
	})
}

// TestWrittenDefaultIsTheSameForm: a default has the same hash, written or absent.
func TestWrittenDefaultIsTheSameForm(t *testing.T) {
	hash := func(rule string) string {
		return parse(t, `{"spec": {"rules": [{"name": "a", "target": {"apiVersion": "v1", "kind": "Pod"}, "ttl": "1h"`+rule+`}]}}`).Load(policy.DefaultProtection()).Hash
	}
	for _, same := range [][2]string{
		{``, `, "eligible": "true"`},
		{``, `, "delete": {}`},
		{``, `, "delete": {"target": "Object", "propagationPolicy": "Background"}`},
		{`, "delete": {"target": "Owner"}`, `, "delete": {"target": "Owner", "propagationPolicy": "Background"}`},
		{`, "capacity": {"max": 3}`, `, "capacity": {"max": 3, "share": "PerNamespace"}`},
	} {
		if hash(same[0]) != hash(same[1]) {
			t.Errorf("%q and %q have different hashes", same[0], same[1])
		}
	}
	for _, other := range []string{`, "delete": {"propagationPolicy": "Orphan"}`, `, "delete": {"target": "Owner"}`} {
		if hash(``) == hash(other) {
			t.Errorf("%q has the hash of the default", other)
		}
	}
}

// TestNamespaceComparisonHasEveryField: subjects of a changed namespace are evaluated again.
func TestNamespaceComparisonHasEveryField(t *testing.T) {
	checkFields(t, func() *policy.Namespace { return &policy.Namespace{} }, irrelevant{}, func(a, b *policy.Namespace) bool {
		return !a.Equal(*b)
	})
}

// TestCopyIsNotApproved: an approval applies to one object.
func TestCopyIsNotApproved(t *testing.T) {
	approval := func(uid types.UID, form string) string { return (&policy.Policy{UID: uid, Hash: form}).ApprovalHash() }
	if one := approval("u", "h"); one == approval("copy", "h") || one == approval("u", "other") {
		t.Error("an approval applies to another version or object")
	}
}
