package report

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/engine"
)

// references are what refers to a ConfigMap or Secret, or that nothing does.
func (e *explanation) references(r *explain.References) {
	if r == nil {
		return
	}
	e.title("What refers to it:")
	for _, by := range r.By {
		e.line(2, "%s", referrer(by))
	}
	if more := r.Count - len(r.By); more > 0 {
		e.line(2, "and %d more", more)
	}
	switch {
	case r.Doubt != nil:
		e.line(2, "there may be more: %v", r.Doubt)
	case r.Count == 0 && !r.Since.Time.IsZero():
		e.line(2, "nothing; marked eligible by %s since %s", r.Since.Rule, moment(r.Since.Time, e.at))
	case r.Count == 0:
		e.line(2, "nothing")
	}
}

// referrer is KIND NAMESPACE/NAME.
func referrer(r engine.Referrer) string {
	return fmt.Sprintf("%s %s", r.Kind, strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
}

// pageReferences is what refers to an object in JSON and YAML.
type pageReferences struct {
	Count   int            `json:"count"`
	By      []pageReferrer `json:"by"`                // the first of them
	Unknown string         `json:"unknown,omitempty"` // why there may be more
	Since   string         `json:"since,omitempty"`   // where nothing refers to it: since when it is marked eligible
}

type pageReferrer struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func newReferences(r *explain.References) *pageReferences {
	if r == nil {
		return nil
	}
	out := &pageReferences{Count: r.Count, Since: known(r.Since.Time), By: each(r.By, func(by engine.Referrer) pageReferrer {
		return pageReferrer{by.Kind, by.Namespace, by.Name}
	})}
	if r.Doubt != nil {
		out.Unknown = r.Doubt.Error()
	}
	return out
}
