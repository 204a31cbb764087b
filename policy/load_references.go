package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Reference is how objects of a kind refer to ConfigMaps or Secrets. It counts for the rules of every policy.
type Reference struct {
	From    schema.GroupVersionKind
	To      v1alpha1.Referred
	Names   string // CEL
	Invalid bool   // nobody can say what refers to what by it
}

const (
	referencesField = "spec.references"
	mostReferences  = 64
)

func referencePath(i int) string { return fmt.Sprintf("%s[%d]", referencesField, i) }

// InvalidReference is something about referrers that nobody understands. It may name anything.
type InvalidReference struct {
	Path string
	To   v1alpha1.Referred // what it is about; empty where nobody knows
	Why  string
}

// InvalidReferences is what of the references of a policy is not understood.
func (p *Policy) InvalidReferences() []InvalidReference {
	if p.unread != nil {
		return []InvalidReference{{Path: referencesField, Why: p.unread.String()}}
	}
	var all []InvalidReference
	for i, r := range p.References {
		if path := referencePath(i); r.Invalid {
			all = append(all, p.invalidReference(path, r.To))
		}
	}
	return all
}

// invalidReference tells the first problem of a reference. What it refers to counts if it can be read itself.
func (p *Policy) invalidReference(path string, to v1alpha1.Referred) InvalidReference {
	m := InvalidReference{Path: path, To: to}
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
	}
	return m
}

// unreadable finds the problem for which nothing is known of the references of a document.
func (d *Document) unreadable() *Problem {
	if d.Namespaced() {
		return nil
	}
	for _, problem := range d.Problems {
		if problem.Path == "spec" || problem.Path == referencesField {
			return &problem
		}
	}
	return nil
}

func (p *Policy) loadReferences(written []v1alpha1.Reference) {
	if len(written) > mostReferences {
		p.problem(referencesField, fmt.Sprintf("%d entries, and there can be %d", len(written), mostReferences), "another policy may have the others: they count for all")
	}
	for i := range written {
		p.References = append(p.References, p.loadReference(referencePath(i), &written[i]))
	}
}

func (p *Policy) loadReference(path string, written *v1alpha1.Reference) *Reference {
	r := &Reference{To: written.To, Names: written.Names}
	gv, err := schema.ParseGroupVersion(written.From.APIVersion)
	switch {
	case written.From == v1alpha1.Referrer{}:
		p.problem(path+".from", "missing", "write apiVersion and kind of what refers, such as cert-manager.io/v1 and Certificate")
	case err != nil:
		p.problem(path+".from.apiVersion", err.Error(), apiVersionHint)
	case gv.Version == "":
		p.problem(path+".from.apiVersion", "missing", apiVersionHint)
	case strings.TrimSpace(written.From.Kind) == "":
		p.problem(path+".from.kind", "missing", "write the kind in CamelCase, such as Certificate")
	default:
		r.From = gv.WithKind(written.From.Kind)
		if gv.Group == v1alpha1.ImageKind.Group {
			p.problem(path+".from.kind", "images of nodes refer to nothing", "")
		}
	}
	switch written.To {
	case v1alpha1.ReferredConfigMap, v1alpha1.ReferredSecret:
	case "":
		p.problem(path+".to", "missing", "ConfigMap or Secret")
	default:
		p.problem(path+".to", fmt.Sprintf("references to %q are not followed", written.To), "ConfigMap or Secret")
	}
	if strings.TrimSpace(r.Names) == "" {
		p.problem(path+".names", "missing", "write CEL that gives a list of names, such as [object.spec.secretName]")
	}
	return r
}

const apiVersionHint = "write GROUP/VERSION such as cert-manager.io/v1, or v1"
