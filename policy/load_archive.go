// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sunset-k8s/sunset/policy/archive/redact"
)

// maxTailBytes is the maximum of archive.logs.tailBytes: a record is held in memory.
const maxTailBytes = 16 << 20

var podKind = schema.GroupKind{Kind: "Pod"}

// loadArchive reads the archive of a rule. A rule whose archive is invalid archives nothing, and deletes nothing.
func (r *Rule) loadArchive(at report) {
	written := r.Spec.Archive
	if written == nil {
		return
	}
	a := &Archive{To: written.To, Events: written.Events, Redact: slices.Sorted(slices.Values(written.Redact))}
	switch {
	case a.To == "":
		at("archive.to", "missing", "write the name of a RetentionArchive")
	case len(validation.IsDNS1123Subdomain(a.To)) > 0:
		at("archive.to", fmt.Sprintf("%q is not a valid name of a RetentionArchive", a.To), "use lowercase letters, digits, - and .")
	}
	for i, text := range written.Dependents {
		kind := schema.ParseGroupKind(text)
		if kind.Kind == "" || strings.ContainsAny(text, " /*") {
			at(fmt.Sprintf("archive.dependents[%d]", i), fmt.Sprintf("%q is not a kind", text), "write Kind or Kind.group, such as Pod or Job.batch")
		}
		a.Dependents = append(a.Dependents, kind)
	}
	if len(a.Dependents) > 0 && r.Propagation == metav1.DeletePropagationOrphan {
		at("archive.dependents", "propagationPolicy Orphan keeps the dependents", "write Background or Foreground, or leave dependents out")
	}
	if r.Owner { // garbage collection deletes the object that the rule selects
		a.Dependents = append(a.Dependents, r.Kind.GroupKind())
	}
	slices.SortFunc(a.Dependents, compareKinds)
	a.Dependents = slices.Compact(a.Dependents)
	r.loadArchiveLogs(at, a)
	for i, path := range written.Redact {
		if _, err := redact.Parse(path); err != nil {
			at(fmt.Sprintf("archive.redact[%d]", i), err.Error(), "write a path such as spec.template.spec.containers[*].env[*].value")
		}
	}
	r.Archive = a
}

func compareKinds(a, b schema.GroupKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}

func (r *Rule) loadArchiveLogs(at report, a *Archive) {
	written := r.Spec.Archive.Logs
	if written == nil {
		return
	}
	a.Logs = &ArchiveLogs{TailBytes: written.TailBytes.Value(), Required: written.Required}
	if a.Logs.TailBytes < 1 || written.TailBytes.CmpInt64(maxTailBytes) > 0 {
		at("archive.logs.tailBytes", fmt.Sprintf("%q is out of range", written.TailBytes.String()), "1 to 16Mi, such as 1Mi")
	}
	if !slices.Contains(a.Dependents, podKind) && (r.Owner || r.Kind.GroupKind() != podKind) {
		at("archive.logs", "only Pods have logs, and neither the rule nor archive.dependents names Pod", "add Pod to archive.dependents, or leave logs out")
	}
}

// archives reports whether records of the rule may include objects of a kind.
func (r *Rule) archives(kind schema.GroupKind) bool {
	return r.Archive != nil && (r.Kind.GroupKind() == kind || slices.Contains(r.Archive.Dependents, kind))
}
