// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Load checks a document and sets its defaults. It always gives a Policy: mistakes are in its Problems, and make the rules and
// overrides that they concern invalid. Load does not check expressions; package engine compiles them.
func (d *Document) Load(protection Protection) *Policy {
	spec := &d.Spec
	p := &Policy{
		Name:           d.Metadata.Name,
		UID:            d.Metadata.UID,
		Created:        d.Metadata.CreationTimestamp.UTC(),
		Generation:     d.Metadata.Generation,
		Mode:           spec.Mode,
		Excluded:       sets.New(spec.ExcludeNamespaces...),
		Variables:      spec.Variables,
		Problems:       slices.Clone(d.Problems),
		ServiceAccount: spec.ServiceAccountName,
		Hash:           spec.hash(),
		off:            protection.Off,
		meant:          d.Meant,
	}
	if d.Namespaced() {
		p.namespaced = true
		p.Namespace = d.Metadata.Namespace
		p.Name = strings.TrimPrefix(d.Metadata.Namespace+"/", "/") + d.Metadata.Name
	}
	p.loadMode()
	p.loadNamespaces(spec.NamespaceSelector)
	p.loadExcluded(spec.ExcludeNamespaces)
	p.loadApproval(spec.Approval)
	p.loadLimits(spec.Limits)
	p.loadTimes(spec)
	p.loadNeeds(d)
	p.unread = d.unreadable()
	p.loadReferences(spec.References)
	seen := sets.New[string]()
	for i := range spec.Rules {
		p.Rules = append(p.Rules, p.loadRule(i, spec.Rules[i], seen, protection))
	}
	p.Ledger = p.Limits != nil || slices.ContainsFunc(spec.Rules, func(r v1alpha1.Rule) bool { return r.Outcome != "" || r.Archive != nil })
	for _, r := range p.Rules {
		r.Ledger = p.Ledger && !r.OnNodes()
	}
	for i := range spec.Overrides {
		p.Overrides = append(p.Overrides, p.loadOverride(i, spec.Overrides[i]))
	}
	if d.Namespaced() {
		p.doubt()
	}
	p.blame()
	return p
}

// loadNeeds checks that the policy has rules, overrides or references, and that its rules have a ServiceAccount.
func (p *Policy) loadNeeds(d *Document) {
	spec := &d.Spec
	switch {
	case d.Namespaced() && len(spec.Rules)+len(spec.Overrides)+len(spec.Freezes) == 0 && len(p.Problems) == 0:
		p.problem("spec.rules", "neither rules nor overrides nor freezes", "add overrides of rules of ClusterRetentionPolicies, rules or freezes")
	case d.Namespaced() && len(spec.Rules) > 0 && spec.ServiceAccountName == "":
		p.problem("spec.serviceAccountName", "missing", "name a ServiceAccount of the namespace with permission to list and delete the kinds that the rules target")
	case d.Namespaced() && spec.ServiceAccountName != "" && len(validation.IsDNS1123Subdomain(spec.ServiceAccountName)) > 0:
		p.problem("spec.serviceAccountName", fmt.Sprintf("%q is not a valid name of a ServiceAccount", spec.ServiceAccountName), "use lowercase letters, digits, - and .")
	case !d.Namespaced() && len(spec.Rules)+len(spec.References)+len(spec.Freezes) == 0 && len(p.Problems) == 0:
		p.problem("spec.rules", "neither rules nor references nor freezes", "add rules that say which objects Sunset may delete, references or freezes")
	}
}

func (p *Policy) loadMode() {
	if !oneOf(p.problem, "spec.mode", p.Mode, v1alpha1.DryRun, v1alpha1.Enforce, v1alpha1.Suspend) {
		p.Mode = v1alpha1.Suspend
	}
	p.Mode = cmp.Or(p.Mode, v1alpha1.DryRun)
}

// loadNamespaces reads the selector. A selector that cannot be read may mean any namespace.
func (p *Policy) loadNamespaces(selector *metav1.LabelSelector) {
	p.Namespaces = labels.Everything()
	if selector == nil {
		return
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		p.problem(SelectorProblem("spec.namespaceSelector", selector, err))
		return
	}
	p.Namespaces = s
}

// loadExcluded refuses names that no namespace can have: with a typing error, the policy would apply in that namespace.
func (p *Policy) loadExcluded(names []string) {
	for i, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			hint := "use lowercase letters, digits and -"
			if strings.Contains(name, "*") {
				hint = "names have no wildcards: list each name, or exclude by label with namespaceSelector"
			}
			p.problem(fmt.Sprintf("spec.excludeNamespaces[%d]", i), fmt.Sprintf("%q is not a valid name of a namespace", name), hint)
		}
	}
}

func (p *Policy) loadRule(i int, spec v1alpha1.Rule, seen sets.Set[string], protection Protection) *Rule {
	r := &Rule{
		ID:               RuleID{Policy: p.Name, Rule: spec.Name},
		PolicyUID:        p.UID,
		Namespace:        p.Namespace,
		ServiceAccount:   p.ServiceAccount,
		Index:            i,
		Mode:             p.Mode,
		Events:           spec.Events,
		Propagation:      metav1.DeletePropagationBackground,
		HasTTLExpression: spec.TTLExpression != "",
		Spec:             spec,
	}
	at := func(field, message, hint string) {
		p.problem(fmt.Sprintf("spec.rules[%d].%s", i, field), message, hint)
	}
	switch {
	case spec.Name == "":
		at("name", "missing", "name the rule; status, events and metrics use the name")
	case len(validation.IsDNS1123Label(spec.Name)) > 0:
		at("name", fmt.Sprintf("%q is not a valid name of a rule", spec.Name), "use lowercase letters, digits and -")
	case seen.Has(spec.Name):
		at("name", fmt.Sprintf("another rule is named %q", spec.Name), "give each rule a different name")
	}
	seen.Insert(spec.Name)
	r.Windows, r.Freezes = p.times().Windows, p.Freezes
	r.loadTarget(at, protection)
	r.loadTTL(at)
	r.loadRanking(at)
	r.loadBounds(at)
	r.loadRest(at)
	p.loadImages(r, at)
	return r
}

type report func(field, message, hint string)

func (r *Rule) loadTarget(at report, protection Protection) {
	switch {
	case strings.Contains(r.Spec.Target.APIVersion, "*"):
		at("target.apiVersion", fmt.Sprintf("%q is not a group and version", r.Spec.Target.APIVersion), "a rule targets one kind, without wildcards: write one rule for each kind")
		return
	case strings.Contains(r.Spec.Target.Kind, "*"):
		at("target.kind", fmt.Sprintf("%q is not a kind", r.Spec.Target.Kind), "a rule targets one kind, without wildcards: write one rule for each kind")
		return
	}
	r.Kind = kindAt(at, "target", r.Spec.Target.APIVersion, r.Spec.Target.Kind)
	switch kind := r.Kind.GroupKind(); {
	case kind.Kind == v1alpha1.ImageKind.Kind && slices.Contains(withoutImages, kind.Group):
		at("target.apiVersion", fmt.Sprintf("%s has no kind %s", r.Spec.Target.APIVersion, kind.Kind), "for images of nodes, write "+v1alpha1.ImageKind.GroupVersion().String())
	case protection.Kind(kind):
		at("target.kind", fmt.Sprintf("%s is a protected kind", kind), "an operator can allow it with --allow-kinds="+kind.String())
	}
}

// kindAt reads the kind of a field. It reports a problem if there is none, and then returns no kind.
func kindAt(at report, field, apiVersion, kind string) schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(apiVersion)
	switch {
	case err != nil:
		at(field+".apiVersion", err.Error(), "write GROUP/VERSION such as batch/v1, or v1")
	case isVersion.MatchString(gv.Group):
		at(field+".apiVersion", fmt.Sprintf("%q is not a group and version", gv), fmt.Sprintf("write %s/%s", gv.Version, gv.Group))
	case gv.Version == "":
		at(field+".apiVersion", "missing", "write GROUP/VERSION such as batch/v1, or v1")
	case strings.TrimSpace(kind) == "":
		at(field+".kind", "missing", "write the kind in CamelCase, such as Job")
	default:
		return gv.WithKind(kind)
	}
	return schema.GroupVersionKind{}
}

// isVersion matches a version of an API. A group never looks like that.
var isVersion = regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`)

// withoutImages are the groups where users look for images of nodes, and that have no kind of that name.
var withoutImages = []string{"", "node.k8s.io", v1alpha1.GroupVersion.Group}

func (r *Rule) loadTTL(at report) {
	switch {
	case r.Spec.TTL != "" && r.HasTTLExpression:
		at("ttlExpression", "ttl is set too", "set either ttl or ttlExpression")
	case r.HasTTLExpression:
	case r.Spec.TTL == "" && (r.Spec.Capacity != nil || hasThresholds(&r.Spec)):
		r.TTL = NeverTTL
	case r.Spec.TTL == "":
		at("ttl", "missing", `write how long to keep the object after startTime, such as 7d, or "0s" to delete it at once`)
	default:
		ttl, err := ParseTTL(r.Spec.TTL)
		if err != nil {
			at("ttl", err.Error(), TTLHint(r.Spec.TTL))
		}
		r.TTL = ttl
	}
}

func (r *Rule) loadRest(at report) {
	oneOf(at, "events", r.Events, v1alpha1.EventsAggregate, v1alpha1.EventsPerObject)
	r.Events = cmp.Or(r.Events, v1alpha1.EventsAggregate)
	if r.Spec.Delete != nil {
		r.loadDelete(at, r.Spec.Delete)
	}
	r.loadArchive(at)
	r.loadSnapshot(at)
}

// LacksVariables reports whether the list of variables cannot be read, so that all variables are unknown.
func (p *Policy) LacksVariables() bool {
	return slices.ContainsFunc(p.Problems, func(known Problem) bool { return known.Path == variablesField })
}

// problem adds a problem, unless there is already a problem of the same field, or of a field that contains it.
func (p *Policy) problem(path, message, hint string) {
	if slices.ContainsFunc(p.Problems, func(known Problem) bool { return within(path, known.Path) }) {
		return
	}
	if message == "missing" && slices.ContainsFunc(p.meant, func(m Meant) bool { return m.explains(path) }) {
		return
	}
	p.Problems = append(p.Problems, Problem{Path: path, Message: message, Hint: hint})
}

// AddProblems adds the problems of compiled expressions, and makes the rules that they concern invalid.
func (p *Policy) AddProblems(problems ...Problem) {
	p.Problems = append(p.Problems, problems...)
	p.blame()
}

// blame gives each rule and override its own problems, and those that concern all rules. Problems of references concern the rules
// that read references.
func (p *Policy) blame() {
	for _, r := range p.Rules {
		r.Problems = nil
		for _, problem := range p.Problems {
			if p.concerns(problem.Path, r) {
				r.Problems = append(r.Problems, problem)
			}
		}
	}
	for i, reference := range p.References {
		reference.Invalid = slices.ContainsFunc(p.Problems, func(problem Problem) bool { return within(problem.Path, referencePath(i)) })
	}
	for i, o := range p.Overrides {
		o.Invalid = o.Invalid || slices.ContainsFunc(p.Problems, func(problem Problem) bool {
			return concerns(problem.Path, "spec.overrides[", i) && strings.HasPrefix(problem.Path, "spec.overrides[")
		})
	}
}

// concerns reports whether a problem concerns a rule.
func (p *Policy) concerns(path string, r *Rule) bool {
	switch {
	case strings.HasPrefix(path, "spec.overrides["):
		return false
	case within(path, referencesField) && !p.namespaced:
		return r.ReadsReferences()
	default:
		return concerns(path, "spec.rules[", r.Index)
	}
}

// concerns reports whether a problem is in this element of a list, or outside of all its elements.
func concerns(path, list string, element int) bool {
	below, found := strings.CutPrefix(path, list)
	if !found {
		return true
	}
	var i int
	_, err := fmt.Sscanf(below, "%d]", &i)
	return err != nil || i == element
}

// readElsewhere are the fields of a RetentionPolicy that do not affect rules of ClusterRetentionPolicies, or that concern only
// one override. A list that cannot be read is not among them, because its elements are unknown.
var readElsewhere = []string{"spec.rules[", "spec.overrides[", "spec.mode", "spec.variables", "spec.serviceAccountName", "spec.approval", "spec.limits", windowsField, "metadata", "status"}

// doubt makes a problem that may hide an override suspend every rule in the namespace.
func (p *Policy) doubt() {
	for _, problem := range p.Problems {
		understood := slices.ContainsFunc(readElsewhere, func(field string) bool { return within(problem.Path, field) })
		if !understood {
			p.Overrides = append(p.Overrides, &Override{From: p.Name, Path: problem.Path, Invalid: true})
			return
		}
	}
}

// within reports whether a path is a field or below it. It compares whole names, not only their beginnings.
func within(path, field string) bool {
	rest, found := strings.CutPrefix(path, field)
	return found && (rest == "" || strings.HasSuffix(field, "[") || rest[0] == '.' || rest[0] == '[')
}
