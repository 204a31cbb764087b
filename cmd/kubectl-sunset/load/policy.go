// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Loader parses and compiles policies. Each call of Load adds to Programs.
type Loader struct {
	Compiler   *engine.Compiler
	Protection policy.Protection
	Programs   map[string]*engine.Program // compiled rules, by Key
}

// NewLoader makes a Loader.
func NewLoader(compiler *engine.Compiler, protection policy.Protection) *Loader {
	return &Loader{Compiler: compiler, Protection: protection, Programs: map[string]*engine.Program{}}
}

// Input returns a preview.Input with the fields that come from the loader. The caller sets the policies and all other fields.
func (l *Loader) Input(at time.Time) preview.Input {
	return preview.Input{Compiler: l.Compiler, Programs: l.Programs, Protection: l.Protection, At: at}
}

// Policy is a policy and its position in a file.
type Policy struct {
	*policy.Policy
	File     string         // empty for a policy of the cluster
	Document int            // in File, from 1
	Object   map[string]any // as written; nil for a policy of the cluster
	item     Item

	Checked []policy.Problem // warnings of Check

	// WrittenAsDryRun reports that the file says DryRun, although Enforce made the policy act as if it were enforced.
	WrittenAsDryRun bool
	ignored         []policy.Problem // warnings about parts of the file that have no effect
}

// Line returns the line of File that a problem is about, from 1; or 0 for a policy of the cluster.
func (p Policy) Line(problem policy.Problem) int {
	if p.File == "" {
		return 0
	}
	return p.item.LineOf(problem.Path, problem.Line)
}

// Warnings returns the warnings of its rules, of parts without effect, and of Check, in the order of the file.
func (p Policy) Warnings() []policy.Problem {
	return p.inOrder(slices.Concat(p.Policy.Warnings(), p.ignored, p.Checked))
}

// InOrder returns its problems in the order of the file.
func (p Policy) InOrder() []policy.Problem { return p.inOrder(p.Problems) }

func (p Policy) inOrder(problems []policy.Problem) []policy.Problem {
	lines := map[policy.Problem]int{}
	for _, problem := range problems {
		lines[problem] = p.Line(problem)
	}
	return slices.SortedStableFunc(slices.Values(problems), func(a, b policy.Problem) int { return lines[a] - lines[b] })
}

var (
	isExpression = regexp.MustCompile(`\.(eligible|startTime|ttlExpression|groupBy|outcome|bytes|expression|names)$|^spec\.references\[\d+\]\.selector$`)
	continues    = regexp.MustCompile(`^#\s*(&&|\|\||[=!]=|[)\]'"])`) // text that continues an expression, and that no comment begins with
)

// outsideNamespace warns of a ClusterRetentionPolicy with a namespace. The API server ignores it: the policy applies to all
// namespaces.
func outsideNamespace(object map[string]any) []policy.Problem {
	if preview.NamespaceOf(object) == "" || object["kind"] != v1alpha1.ClusterRetentionPolicyKind.Kind {
		return nil
	}
	return []policy.Problem{{
		Path: "metadata.namespace", Message: "a ClusterRetentionPolicy is cluster-scoped and applies to all namespaces",
		Hint: "remove the field, or write a RetentionPolicy",
	}}
}

const cutHint = "YAML reads # and the text after it as a comment: put the whole value in quotes, or on its own line below >-"

// addAmbiguity adds a problem or warning for an ambiguity that the decoder accepted.
func (p *Policy) addAmbiguity(slip Ambiguity) {
	isHere := func(other policy.Problem) bool { return other.Path == slip.Path }
	switch {
	case slip.Tag != "":
		p.Problems = slices.DeleteFunc(p.Problems, isHere)
		p.AddProblems(policy.Problem{Path: slip.Path, Message: "a value that begins with ! is a tag in YAML, not text", Hint: fmt.Sprintf("write %q", slip.Tag)})
	case slip.Comment == "":
		p.AddProblems(policy.Problem{Path: slip.Path, Message: "repeated field", Hint: policy.RepeatedHint})
	case !isExpression.MatchString(slip.Path):
	case slices.ContainsFunc(p.Problems, isHere):
		if at := slices.IndexFunc(p.Problems, isHere); diagnose.IsSyntaxError(p.Problems[at]) {
			p.Problems[at].Hint = cutHint
			p.AddProblems() // the rule has the same problem
		}
	case continues.MatchString(slip.Comment):
		p.ignored = append(p.ignored, policy.Problem{Path: slip.Path, Message: fmt.Sprintf("%q is not a part of the expression", slip.Comment), Hint: cutHint})
	}
}

// Where returns the policy's position for messages.
func (p Policy) Where() string {
	if p.File == "" {
		return "cluster"
	}
	return fmt.Sprintf("%s: document %d", p.File, p.Document)
}

// IsPolicy reports whether an object is meant as a policy: any object of Sunset's API group, and any that probably has a wrong
// group.
func IsPolicy(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	return strings.HasPrefix(apiVersion, v1alpha1.GroupVersion.Group+"/") || isMisplaced(object)
}

// isApprovalOrLedger reports whether an object belongs to a policy, without being one.
func isApprovalOrLedger(object map[string]any) bool {
	kinds := []string{v1alpha1.ClusterRetentionApprovalKind.Kind, v1alpha1.RetentionApprovalKind.Kind, v1alpha1.RetentionLedgerKind.Kind}
	kind, _ := object["kind"].(string)
	return object["apiVersion"] == v1alpha1.GroupVersion.String() && slices.Contains(kinds, kind)
}

// policyKinds lists the kinds that this version supports.
var policyKinds = []string{v1alpha1.ClusterRetentionPolicyKind.Kind, v1alpha1.RetentionPolicyKind.Kind}

// isMisplaced reports whether an object has one of Sunset's kinds and a wrong group. A ClusterRetentionPolicy counts in any
// group. A RetentionPolicy counts only without a group, because other projects have that kind too. A similar kind counts if the
// group contains "sunset".
func isMisplaced(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	return kind == v1alpha1.ClusterRetentionPolicyKind.Kind ||
		kind == v1alpha1.RetentionPolicyKind.Kind && group == apiVersion ||
		strings.Contains(group, "sunset") && policy.Closest(kind, policyKinds) != ""
}

// Load parses and compiles a policy. All its errors are in its Problems.
func (l *Loader) Load(object map[string]any) *policy.Policy {
	name := NameOf(object)
	if problem := wrongKind(object); problem != nil {
		return &policy.Policy{Name: name, Problems: []policy.Problem{*problem}}
	}
	data, _ := json.Marshal(object) // no error: its values are those of JSON
	document, err := policy.Parse(data)
	if err != nil {
		return &policy.Policy{Name: name, Problems: []policy.Problem{{Path: "document", Message: err.Error()}}}
	}
	p := document.Load(l.Protection)
	switch {
	case name == "" && document.Metadata.GenerateName == "":
		p.AddProblems(policy.Problem{Path: "metadata.name", Message: "missing", Hint: "name the policy; status, events and metrics use the name"})
	case name != "" && len(validation.IsDNS1123Subdomain(name)) > 0:
		p.AddProblems(policy.Problem{Path: "metadata.name", Message: fmt.Sprintf("%q is not a valid name of a policy", name), Hint: "use lowercase letters, digits, - and ."})
	}
	if document.Namespaced() && p.Namespace == "" {
		p.AddProblems(policy.Problem{Path: "metadata.namespace", Message: "missing", Hint: "a RetentionPolicy applies to its own namespace"})
	}
	maps.Copy(l.Programs, l.Compiler.Load(p))
	return p
}

// SetUID gives a policy without a UID the UID that it will have in the cluster. The policy must not be in a Snapshot yet.
func (l *Loader) SetUID(p *policy.Policy, uid types.UID) {
	if p.UID != "" || uid == "" {
		return
	}
	p.UID = uid
	for _, r := range p.Rules {
		r.PolicyUID = uid
	}
	maps.Copy(l.Programs, l.Compiler.Load(p)) // keys of marks depend on the UID
}

func wrongKind(object map[string]any) *policy.Problem {
	kind, _ := object["kind"].(string)
	path := "apiVersion"
	if object["apiVersion"] == v1alpha1.GroupVersion.String() {
		if slices.Contains(policyKinds, kind) {
			return nil
		}
		path = "kind"
	}
	hint := fmt.Sprintf("this version supports %s %s", v1alpha1.GroupVersion, strings.Join(policyKinds, " and "))
	if meant := policy.Closest(kind, policyKinds); meant != "" {
		hint = fmt.Sprintf("did you mean apiVersion: %s and kind: %s?", v1alpha1.GroupVersion, meant)
	}
	return &policy.Problem{Path: path, Message: fmt.Sprintf("%v %v is not supported", object["apiVersion"], kind), Hint: hint}
}

// NameOf returns the name of an object, or an empty string if it has none.
func NameOf(object map[string]any) string {
	name, _ := preview.MetadataOf(object)["name"].(string)
	return name
}
