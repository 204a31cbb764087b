// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// policy is a ClusterRetentionPolicy or a RetentionPolicy at one revision.
type policy struct {
	state     *history.State
	name      string // NAMESPACE/NAME of a RetentionPolicy
	namespace string // of a RetentionPolicy
	uid       string
	spec      v1alpha1.ClusterRetentionPolicySpec // fields that both kinds have
	account   string
	selector  labels.Selector
	rules     []*rule
	overrides []override
	// doubtful is true if an unreadable part may contain an override.
	doubtful bool
}

// rule is one rule of a policy.
type rule struct {
	*policy
	v1alpha1.Rule
	kind     schema.GroupVersionKind
	selector labels.Selector
	invalid  error // deletes nothing, and keeps
	compiled *compiled
}

type override struct {
	v1alpha1.RuleOverride
	invalid bool
}

func (p *policy) clustered() bool { return p.namespace == "" }

func (p *policy) enforced() bool { return p.spec.Mode == v1alpha1.Enforce }

// hasVote reports whether its rules count; the rules of a dry run do not.
func (p *policy) hasVote() bool { return p.spec.Mode != v1alpha1.DryRun }

func (r *rule) id() string { return r.policy.name + "/" + r.Name }

func (r *rule) deletesOwner() bool { return r.Delete != nil && r.Delete.Target == v1alpha1.TargetOwner }

// readPolicy reads a policy strictly. An error in a rule makes that rule invalid; an error elsewhere makes all rules invalid.
func (j *checker) readPolicy(s *history.State) *policy {
	p := &policy{state: s, name: s.GetName(), namespace: s.GetNamespace(), uid: string(s.GetUID())}
	if p.namespace != "" {
		p.name = p.namespace + "/" + p.name
	}
	spec, ok := s.Object["spec"].(map[string]any)
	var wrong error
	if !ok {
		wrong = errors.New("spec is missing")
	}
	rest := maps.Clone(spec)
	delete(rest, "rules")
	delete(rest, "overrides")
	wrong = errors.Join(wrong, p.readRest(rest), p.readTop(s))
	p.doubtful = wrong != nil && !p.clustered()
	p.readOverrides(spec["overrides"])
	wrong = errors.Join(wrong, p.readMode(), p.readSelector(), j.compileVariables(p))
	list, isList := spec["rules"].([]any)
	if spec["rules"] != nil && !isList {
		wrong = errors.Join(wrong, errors.New("rules is not a list"))
	}
	for _, written := range list {
		p.rules = append(p.rules, j.readRule(p, written, wrong))
	}
	return p
}

// readTop returns an error for unknown fields next to spec.
func (p *policy) readTop(s *history.State) error {
	for field := range s.Object {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, field) {
			return fmt.Errorf("unknown field %s", field)
		}
	}
	return nil
}

func (p *policy) readRest(rest map[string]any) error {
	if p.clustered() {
		return strictly(rest, &p.spec)
	}
	var own v1alpha1.RetentionPolicySpec
	err := strictly(rest, &own)
	p.account = own.ServiceAccountName
	p.spec = v1alpha1.ClusterRetentionPolicySpec{Mode: own.Mode, Variables: own.Variables, Approval: own.Approval, Limits: own.Limits, Windows: own.Windows, Freezes: own.Freezes}
	return err
}

func (p *policy) readMode() error {
	switch p.spec.Mode {
	case "":
		p.spec.Mode = v1alpha1.DryRun
	case v1alpha1.DryRun, v1alpha1.Enforce, v1alpha1.Suspend:
	default:
		p.spec.Mode = v1alpha1.Suspend
		return errors.New("unknown mode")
	}
	return nil
}

func (p *policy) readSelector() (err error) {
	p.selector, err = selectorOf(p.spec.NamespaceSelector)
	return err
}

// selectorOf selects everything if the selector is missing or invalid.
func selectorOf(written *metav1.LabelSelector) (labels.Selector, error) {
	if written == nil {
		return labels.Everything(), nil
	}
	s, err := metav1.LabelSelectorAsSelector(written)
	if err != nil {
		return labels.Everything(), err
	}
	return s, nil
}

func (p *policy) readOverrides(written any) {
	list, _ := written.([]any)
	if written != nil && list == nil {
		p.doubtful = true
	}
	for _, one := range list {
		o := override{}
		err := strictly(one, &o.RuleOverride)
		_, wrong := optionalDuration(o.TTL)
		o.invalid = err != nil || wrong != nil
		p.overrides = append(p.overrides, o)
	}
}

func (j *checker) readRule(p *policy, written any, wrong error) *rule {
	r := &rule{policy: p}
	r.invalid = errors.Join(wrong, strictly(written, &r.Rule))
	gv, err := schema.ParseGroupVersion(r.Target.APIVersion)
	r.kind = gv.WithKind(r.Target.Kind)
	var selected error
	r.selector, selected = selectorOf(r.Target.Selector)
	r.invalid = errors.Join(r.invalid, err, selected, r.readTimes())
	if j.isProtectedKind(r.kind.GroupKind()) {
		r.invalid = errors.Join(r.invalid, errors.New("the kind is protected"))
	}
	r.compiled, err = j.compile(r)
	r.invalid = errors.Join(r.invalid, err)
	return r
}

// readTimes checks the TTL fields.
func (r *rule) readTimes() error {
	_, err := optionalDuration(r.TTL)
	if r.TTL == "" && r.TTLExpression == "" && r.Capacity == nil {
		err = errors.Join(err, errors.New("neither ttl nor capacity"))
	}
	_, least := optionalDuration(r.allowed().MinTTL)
	_, most := optionalDuration(r.allowed().MaxTTL)
	return errors.Join(err, least, most)
}

// strictly reads stored data into an API type; a field that the type does not have is an error.
func strictly(written, into any) error {
	data, err := json.Marshal(written)
	if err != nil {
		return err
	}
	unknown, err := sigsjson.UnmarshalStrict(data, into)
	return errors.Join(append(unknown, err)...)
}
