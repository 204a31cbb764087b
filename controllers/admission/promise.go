package admission

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// This file stands in for what package policy is about to give: policy.Parse and Load for both kinds, and
// policy.Closest. It goes when that is there.

// loaded is a policy of either kind, checked but not compiled.
type loaded struct {
	*policy.Policy
	namespace      string
	serviceAccount string
	overrides      []v1alpha1.RuleOverride
}

func load(data []byte, protection policy.Protection) (*loaded, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(data, &kind); err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	if kind.Kind != v1alpha1.RetentionPolicyKind.Kind {
		document, err := policy.Parse(data)
		if err != nil {
			return nil, err
		}
		return &loaded{Policy: document.Load(protection)}, nil
	}
	return loadNamespaced(data, protection)
}

func loadNamespaced(data []byte, protection policy.Protection) (*loaded, error) {
	own := &v1alpha1.RetentionPolicy{}
	strict, err := sigsjson.UnmarshalStrict(data, own)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	document := &policy.Document{}
	document.Policy.Name = own.Namespace + "/" + own.Name
	document.Policy.Spec = v1alpha1.ClusterRetentionPolicySpec{Mode: own.Spec.Mode, Variables: own.Spec.Variables, Rules: own.Spec.Rules}
	for _, err := range strict {
		problem := policy.Problem{Message: err.Error()}
		if field, ok := err.(sigsjson.FieldError); ok {
			problem.Path, problem.Message = field.FieldPath(), "unknown or repeated field"
		}
		document.Problems = append(document.Problems, problem)
	}
	l := &loaded{Policy: document.Load(protection), namespace: own.Namespace, serviceAccount: own.Spec.ServiceAccountName, overrides: own.Spec.Overrides}
	if len(own.Spec.Rules) == 0 {
		l.Problems = document.Problems
	}
	return l, nil
}

// closest is the known name that was probably meant, or "".
func closest(name string, known []string) string {
	for _, k := range known {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(k)) || strings.HasPrefix(strings.ToLower(k), strings.ToLower(name)) {
			return k
		}
	}
	return ""
}
