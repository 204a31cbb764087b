// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// file returns a file of crds/admission, with each run of white space replaced by one space.
func file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../crds/admission/" + name)
	expect.NoError(t, err)
	return strings.Join(strings.Fields(string(data)), " ")
}

// TestAPIServerKnowsEveryField: a field that is added to a type must not be refused as unknown.
func TestAPIServerKnowsEveryField(t *testing.T) {
	policies := file(t, "policies.yaml")
	for _, part := range []any{
		v1alpha1.ClusterRetentionPolicySpec{}, v1alpha1.RetentionPolicySpec{}, v1alpha1.Rule{}, v1alpha1.Target{}, v1alpha1.KeepNewest{},
		v1alpha1.Capacity{}, v1alpha1.OverrideBounds{}, v1alpha1.Images{}, v1alpha1.Delete{}, v1alpha1.RuleOverride{}, v1alpha1.KeepNewestCount{}, v1alpha1.Variable{},
		v1alpha1.Reference{}, v1alpha1.Referrer{}, v1alpha1.Approval{}, v1alpha1.Window{}, v1alpha1.Freeze{}, metav1.LabelSelector{},
	} {
		var names []string
		for _, field := range reflect.VisibleFields(reflect.TypeOf(part)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, "'"+name+"'")
		}
		if list := "[" + strings.Join(names, ", ") + "]"; !strings.Contains(policies, list) {
			t.Errorf("%T: policies.yaml does not contain %s", part, list)
		}
	}
}

// TestAPIServerRefusesWhatIsProtected: without --allow-kinds, the ValidatingAdmissionPolicy refuses the same kinds as
// Protection in the rules of a RetentionPolicy.
func TestAPIServerRefusesWhatIsProtected(t *testing.T) {
	policies, protection := file(t, "policies.yaml"), policy.DefaultProtection()
	for _, kind := range []schema.GroupKind{
		{Kind: "Namespace"}, {Kind: "Node"}, {Kind: "PersistentVolume"}, {Kind: "PersistentVolumeClaim"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Group: "admissionregistration.k8s.io", Kind: "Any"}, {Group: "apiregistration.k8s.io", Kind: "Any"},
		{Group: "coordination.k8s.io", Kind: "Any"}, {Group: "rbac.authorization.k8s.io", Kind: "Any"}, {Group: "sunset-k8s.io", Kind: "Any"},
	} {
		name := kind.Group
		if name == "" {
			name = kind.Kind
		}
		if !protection.Kind(kind) || !strings.Contains(policies, "'"+name+"'") {
			t.Errorf("%s: protected by package policy: %v; it must also be in policies.yaml", kind, protection.Kind(kind))
		}
	}
}

// TestSuspendConditionIsTheSameInAllFiles: the condition is the same in three places.
func TestSuspendConditionIsTheSameInAllFiles(t *testing.T) {
	const suspends = "!has(object.spec.mode) || object.spec.mode != 'Suspend' " +
		"|| dyn(object.spec).exists(k, k != 'mode' && (!(k in dyn(oldObject.spec)) || dyn(object.spec)[k] != dyn(oldObject.spec)[k])) " +
		"|| dyn(oldObject.spec).exists(k, k != 'mode' && !(k in dyn(object.spec)))"
	for name, want := range map[string]int{"policies.yaml": 2, "webhook.yaml": 1} {
		if got := strings.Count(file(t, name), suspends); got != want {
			t.Errorf("%s contains the condition %d times; want %d", name, got, want)
		}
	}
}
