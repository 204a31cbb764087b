// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Reference declares how objects of a kind refer to others. It applies to the rules of every policy.
type Reference struct {
	From     schema.GroupVersionKind
	To       v1alpha1.Referred
	Names    string // CEL; empty if it has a Selector
	Selector string // CEL
	Invalid  bool   // it cannot be evaluated
}

const referencesField = "spec.references"

// MostReferences is how many references a policy may declare.
const MostReferences = 64

func referencePath(i int) string { return elementPath(referencesField, i) }

// InvalidReference is a reference declaration that cannot be read. It may refer to anything.
type InvalidReference struct {
	Path string
	From schema.GroupKind  // the referring kind; empty if unknown
	To   v1alpha1.Referred // the referred kind; empty if unknown
	Why  string
}

// InvalidReferences are the invalid references of a policy.
func (p *Policy) InvalidReferences() []InvalidReference {
	if p.unread != nil {
		return []InvalidReference{{Path: referencesField, Why: p.unread.String()}}
	}
	var all []InvalidReference
	for i, r := range p.References {
		if path := referencePath(i); r.Invalid {
			all = append(all, p.invalidReference(path, r))
		}
	}
	return all
}

// invalidReference has the first problem of a reference. Its fields from and to are used if they can be read.
func (p *Policy) invalidReference(path string, r *Reference) InvalidReference {
	m := InvalidReference{Path: path, From: r.From.GroupKind(), To: r.To}
	for _, problem := range p.Problems {
		if !within(problem.Path, path) {
			continue
		}
		if m.Why == "" {
			m.Why = problem.String()
		}
		if problem.Path == path || within(problem.Path, path+".to") {
			m.To = ""
		}
		if problem.Path == path || within(problem.Path, path+".from") {
			m.From = schema.GroupKind{}
		}
	}
	return m
}

// unreadable is the problem that makes all references of a document unknown; nil if there is none.
func (d *Document) unreadable() *Problem {
	if d.Namespaced() {
		return nil
	}
	for _, problem := range d.Problems {
		if problem.Path == "spec" || problem.Path == referencesField {
			return &problem
		}
	}
	return lost(referencesField, d.Meant, d.Problems)
}

func (p *Policy) loadReferences(written []v1alpha1.Reference) {
	if len(written) > MostReferences {
		p.problem(referencesField, fmt.Sprintf("%d entries, but the maximum is %d", len(written), MostReferences), "write the others in another policy: references apply to all policies")
	}
	for i := range written {
		p.References = append(p.References, p.loadReference(referencePath(i), &written[i]))
	}
}

func (p *Policy) loadReference(path string, written *v1alpha1.Reference) *Reference {
	r := &Reference{To: written.To, Names: written.Names, Selector: written.Selector}
	if written.From == (v1alpha1.Referrer{}) {
		p.problem(path+".from", "missing", "write apiVersion and kind of the referring objects, such as cert-manager.io/v1 and Certificate")
	} else {
		r.From = kindAt(p.problem, path+".from", written.From.APIVersion, written.From.Kind)
	}
	if r.From.Group == v1alpha1.ImageKind.Group {
		p.problem(path+".from.kind", "images of nodes refer to nothing", "")
	}
	if strings.TrimSpace(string(written.To)) == "" {
		p.problem(path+".to", "missing", "write the kind that they refer to, as Kind or Kind.group, such as Secret or Deployment.apps")
	}
	switch hasNames, selects := strings.TrimSpace(r.Names) != "", strings.TrimSpace(r.Selector) != ""; {
	case hasNames && selects:
		p.problem(path+".selector", "a reference has names or a selector, not both", "declare two references")
	case !hasNames && !selects:
		p.problem(path+".names", "missing", "write CEL that gives a list of names, such as [object.spec.secretName]")
	}
	return r
}
