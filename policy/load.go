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

// Load checks a document and gives it its defaults. It always gives a Policy: what is wrong is in its Problems and
// makes the rules and overrides concerned invalid. Expressions are not looked at here; package engine compiles them.
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
		Approved:       d.Metadata.Annotations[v1alpha1.ApprovedAnnotation],
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
	p.loadNeeds(d)
	p.unread = d.unreadable()
	p.loadReferences(spec.References)
	seen := sets.New[string]()
	for i := range spec.Rules {
		p.Rules = append(p.Rules, p.loadRule(i, spec.Rules[i], seen, protection))
	}
	p.Ledger = p.Limits != nil || slices.ContainsFunc(spec.Rules, func(r v1alpha1.Rule) bool { return r.Outcome != "" })
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

// loadNeeds checks that the policy says anything, and that its rules have rights to act with.
func (p *Policy) loadNeeds(d *Document) {
	spec := &d.Spec
	switch {
	case d.Namespaced() && len(spec.Rules)+len(spec.Overrides) == 0 && len(p.Problems) == 0:
		p.problem("spec.rules", "neither rules nor overrides", "a RetentionPolicy changes rules of ClusterRetentionPolicies, or has rules of its own")
	case d.Namespaced() && len(spec.Rules) > 0 && spec.ServiceAccountName == "":
		p.problem("spec.serviceAccountName", "missing", "name a ServiceAccount of the namespace that may list and delete what the rules target: they act with its rights")
	case d.Namespaced() && spec.ServiceAccountName != "" && len(validation.IsDNS1123Subdomain(spec.ServiceAccountName)) > 0:
		p.problem("spec.serviceAccountName", fmt.Sprintf("%q is no name of a ServiceAccount", spec.ServiceAccountName), "lower case letters, digits, - and dots")
	case !d.Namespaced() && len(spec.Rules)+len(spec.References) == 0 && len(p.Problems) == 0:
		p.problem("spec.rules", "neither rules nor references", "a policy says what may go, or what refers to what")
	}
}

func (p *Policy) loadMode() {
	switch p.Mode {
	case "":
		p.Mode = v1alpha1.DryRun
	case v1alpha1.DryRun, v1alpha1.Enforce, v1alpha1.Suspended:
	default:
		modes := []string{string(v1alpha1.DryRun), string(v1alpha1.Enforce), string(v1alpha1.Suspended)}
		p.problem("spec.mode", fmt.Sprintf("%q is not a mode", p.Mode), cmp.Or(DidYouMean(string(p.Mode), modes), "DryRun, Enforce or Suspended"))
		p.Mode = v1alpha1.Suspended
	}
}

// loadNamespaces reads the selector; one that cannot be read may mean any namespace.
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

// loadExcluded refuses what no namespace can be named: a misspelt one would be left in.
func (p *Policy) loadExcluded(names []string) {
	for i, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			hint := "lower case letters, digits and -"
			if strings.Contains(name, "*") {
				hint = "names have no wildcards: list each name, or exclude by label with namespaceSelector"
			}
			p.problem(fmt.Sprintf("spec.excludeNamespaces[%d]", i), fmt.Sprintf("%q is no name of a namespace", name), hint)
		}
	}
}

func (p *Policy) loadRule(i int, spec v1alpha1.Rule, seen sets.Set[string], protection Protection) *Rule {
	r := &Rule{
		ID:               RuleID{Policy: p.Name, Rule: spec.Name},
		PolicyUID:        p.UID,
		PolicyCreated:    p.Created,
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
		at("name", fmt.Sprintf("%q is no name of a rule", spec.Name), "lower case letters, digits and -")
	case seen.Has(spec.Name):
		at("name", fmt.Sprintf("another rule is named %q", spec.Name), "give each rule a name of its own")
	}
	seen.Insert(spec.Name)
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
	gv, err := schema.ParseGroupVersion(r.Spec.Target.APIVersion)
	switch {
	case strings.Contains(r.Spec.Target.APIVersion, "*"):
		at("target.apiVersion", fmt.Sprintf("%q is no group and version", r.Spec.Target.APIVersion), "a rule is about one kind, without wildcards: write one rule for each kind")
		return
	case strings.Contains(r.Spec.Target.Kind, "*"):
		at("target.kind", fmt.Sprintf("%q is no kind", r.Spec.Target.Kind), "a rule is about one kind, without wildcards: write one rule for each kind")
		return
	case err != nil:
		at("target.apiVersion", err.Error(), "write GROUP/VERSION such as batch/v1, or v1")
		return
	case isVersion.MatchString(gv.Group):
		at("target.apiVersion", fmt.Sprintf("%q is no group and version", gv), fmt.Sprintf("write %s/%s", gv.Version, gv.Group))
		return
	case gv.Version == "":
		at("target.apiVersion", "missing", "write GROUP/VERSION such as batch/v1, or v1")
		return
	case strings.TrimSpace(r.Spec.Target.Kind) == "":
		at("target.kind", "missing", "write the kind in CamelCase, such as Job")
		return
	}
	r.Kind = gv.WithKind(r.Spec.Target.Kind)
	switch kind := r.Kind.GroupKind(); {
	case kind.Kind == v1alpha1.ImageKind.Kind && slices.Contains(withoutImages, kind.Group):
		at("target.apiVersion", fmt.Sprintf("%s has no kind %s", r.Spec.Target.APIVersion, kind.Kind), "images of nodes are of "+v1alpha1.ImageKind.GroupVersion().String())
	case protection.Kind(kind):
		at("target.kind", fmt.Sprintf("%s is a protected kind", kind), "an operator can lift this with --allow-kinds="+kind.String())
	}
}

// isVersion recognizes a version of an API, which is never a group.
var isVersion = regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`)

// withoutImages are the groups in which images of nodes are looked for, and which have no kind of that name.
var withoutImages = []string{"", "node.k8s.io", v1alpha1.GroupVersion.Group}

func (r *Rule) loadTTL(at report) {
	switch {
	case r.Spec.TTL != "" && r.HasTTLExpression:
		at("ttlExpression", "set beside ttl", "a rule has either ttl or ttlExpression")
	case r.HasTTLExpression:
	case r.Spec.TTL == "" && (r.Spec.Capacity != nil || hasThresholds(&r.Spec)):
		r.TTL = NeverTTL
	case r.Spec.TTL == "":
		at("ttl", "missing", `write how long to keep after startTime, such as 7d, or "0s" for at once`)
	default:
		ttl, err := ParseTTL(r.Spec.TTL)
		if err != nil {
			at("ttl", err.Error(), TTLHint(r.Spec.TTL))
		}
		r.TTL = ttl
	}
}

func (r *Rule) loadRest(at report) {
	if r.Spec.Eligible == "" {
		at("eligible", "missing", "write CEL that says which objects may go, such as finished(object)")
	}
	switch r.Events {
	case "":
		r.Events = v1alpha1.EventsAggregate
	case v1alpha1.EventsAggregate, v1alpha1.EventsPerObject:
	default:
		modes := []string{string(v1alpha1.EventsAggregate), string(v1alpha1.EventsPerObject)}
		at("events", fmt.Sprintf("%q is not a way to tell", r.Events), cmp.Or(DidYouMean(string(r.Events), modes), "Aggregate or PerObject"))
	}
	if r.Spec.Delete != nil {
		r.loadDelete(at, r.Spec.Delete)
	}
}

// LacksVariables reports whether the list of variables cannot be read, so that nothing is known of any.
func (p *Policy) LacksVariables() bool {
	return slices.ContainsFunc(p.Problems, func(known Problem) bool { return known.Path == variablesField })
}

// problem adds a problem, unless reading the field, or one around it, has told one already.
func (p *Policy) problem(path, message, hint string) {
	if slices.ContainsFunc(p.Problems, func(known Problem) bool { return within(path, known.Path) }) {
		return
	}
	if message == "missing" && slices.ContainsFunc(p.meant, func(m Meant) bool { return m.explains(path) }) {
		return
	}
	p.Problems = append(p.Problems, Problem{Path: path, Message: message, Hint: hint})
}

// AddProblems adds what compiling the expressions found, and makes the rules concerned invalid.
func (p *Policy) AddProblems(problems ...Problem) {
	p.Problems = append(p.Problems, problems...)
	p.blame()
}

// blame gives each rule and override the problems that concern it: those of its own, and those that concern all. What is
// wrong with references concerns the rules that read them.
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
		return r.ReadsReferences
	default:
		return concerns(path, "spec.rules[", r.Index)
	}
}

// concerns reports whether a problem is one of the element of a list, or of none of its elements.
func concerns(path, list string, element int) bool {
	below, found := strings.CutPrefix(path, list)
	if !found {
		return true
	}
	var i int
	_, err := fmt.Sscanf(below, "%d]", &i)
	return err != nil || i == element
}

// readElsewhere are the fields of a RetentionPolicy that say nothing about rules of ClusterRetentionPolicies, or are
// blamed on one override. A list that cannot be read as one is none of them: nothing behind it has been read either.
var readElsewhere = []string{"spec.rules[", "spec.overrides[", "spec.mode", "spec.variables", "spec.serviceAccountName", "spec.approval", "spec.limits", "metadata", "status"}

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

// within reports whether a path is that of a field, or below it; a field that only begins with the same letters is another.
func within(path, field string) bool {
	rest, found := strings.CutPrefix(path, field)
	return found && (rest == "" || strings.HasSuffix(field, "[") || rest[0] == '.' || rest[0] == '[')
}
