// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
)

// References is the part of the references between objects that a Reporter reads.
type References interface {
	Of(references.Target) references.Uses
	Doubts(references.Kind) []references.Doubted
	Sources() []references.Source
	Len(references.Kind) int
}

// Referrers returns the states of the kinds that refer to others.
type Referrers interface{ States() []referrers.State }

// referred is what is known about references to one kind.
type referred struct {
	doubt   error
	sources []references.Doubted // those that are not known

	undeclared policy.Relations // what rules ask although nothing declares it
	since      time.Time        // when the references or their declarations last changed; zero if unknown
}

// String stays the same as long as nothing changes.
func (k referred) String() string {
	return fmt.Sprint(k.doubt, k.sources, k.since.UnixNano(), k.undeclared)
}

// referredNow returns what is known about the kinds whose references rules read.
func (r *Reporter) referredNow(e policyset.CompiledSnapshot) map[references.Kind]referred {
	all := map[references.Kind]referred{}
	for kind := range e.Asked {
		all[kind] = r.referredTo(kind, e.ReferencesSince)
	}
	return all
}

func (r *Reporter) referredTo(kind references.Kind, declared time.Time) referred {
	nothing := r.References.Of(references.Target{Kind: kind}) // an object without references
	if nothing.Doubt != nil {
		return referred{doubt: nothing.Doubt, sources: r.References.Doubts(kind)}
	}
	return referred{since: policy.Latest(nothing.Since, declared), undeclared: nothing.Undeclared}
}

// settlesAt returns when the references will have been unchanged for the quiet period. Unused objects can be deleted from then
// on, and can be counted. It is zero if the references are unknown.
func (k referred) settlesAt() time.Time {
	if k.since.IsZero() {
		return time.Time{}
	}
	return k.since.Add(policy.QuietPeriod)
}

// asks reports whether a rule asks about references, and of which kind.
func asks(r *policy.Rule) (references.Kind, bool) {
	return references.KindOf(r.Kind.GroupKind()), r.ReadsReferences() && !r.Invalid()
}

// unsettled reports whether a rule reads references, and unused objects could not be due when they were counted.
func (v *statusInput) unsettled(r *policy.Rule) bool {
	kind, ok := asks(r)
	if !ok {
		return false
	}
	known := v.referred[kind]
	at := known.settlesAt()
	return at.IsZero() || v.now.Before(at) || r.Relations.Has(known.undeclared)
}

// referencesKnown returns the condition of a policy with rules that read references; no condition for any other policy.
func (v *statusInput) referencesKnown(p *policy.Policy) (known conditionState) {
	for _, r := range p.Rules {
		kind, asks := asks(r)
		if !asks {
			continue
		}
		switch k := v.referred[kind]; {
		case k.doubt != nil && k.isListing():
			return conditionState{unknown, "Listing", granting(k.message(p, kind), v.missingOfReferences(p), "kubectl sunset rbac")}
		case k.doubt != nil:
			return conditionState{no, "ReferencesUnknown", granting(k.message(p, kind), v.missingOfReferences(p), "kubectl sunset rbac")}
		case r.Relations.Has(k.undeclared):
			missing := r.Relations & k.undeclared
			return conditionState{no, "ReferencesUnknown", fmt.Sprintf("rules that read %s keep every %s: %v", missing, kind, missing.Undeclared())}
		}
		known = conditionState{yes, "ReferencesKnown", "all references to the kinds that the rules ask about are known" + v.absent()}
	}
	return known
}

// isListing reports whether the only unknown references are those of kinds that have not been listed yet.
func (k referred) isListing() bool {
	for _, s := range k.sources {
		if !errors.Is(s.Why, references.ErrUnlisted) {
			return false
		}
	}
	return len(k.sources) > 0
}

// absent names the declared kinds that the cluster does not have: a name may be misspelled.
func (v *statusInput) absent() string {
	var names []string
	for _, s := range v.referrers {
		declared := func(d references.Declared) bool { return d.From == s.Kind }
		if s.Phase == referrers.Absent && slices.ContainsFunc(v.compiled.References, declared) {
			names = append(names, string(s.From))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; the cluster does not have these kinds: " + strings.Join(names, ", ")
}

// readers are the rules to which doubt about references matters.
const readers = "rules that read references, targets or selected"

// message names the referrers whose references are unknown, and the reasons. Users of one namespace do not learn the names of
// objects in others.
func (k referred) message(p *policy.Policy, kind references.Kind) string {
	if len(k.sources) == 0 {
		return fmt.Sprintf("%s keep every %s: %v", readers, kind, k.doubt)
	}
	const shown = 3
	var said []string
	for _, s := range k.sources {
		if p.Namespace != "" {
			said = append(said, string(s.From))
		} else {
			said = append(said, fmt.Sprintf("%s: %v", s.From, s.Why))
		}
	}
	return fmt.Sprintf("%s keep every %s, because some references are not known: %s", readers, kind,
		strings.Join(policy.Shortlist(said, shown, ""), "; "))
}

// references exports what is known about references, while some rule reads them.
func (g *gauges) references(known References, states []referrers.State, asked references.Asked) {
	if len(asked) == 0 {
		return
	}
	for kind := range asked {
		g.count = append(g.count, metrics.References.Of(float64(known.Len(kind)), string(kind)))
	}
	sources := map[references.SourceID]references.Source{}
	for _, s := range known.Sources() {
		sources[s.From] = s
	}
	isAsked := func(kind references.Kind) bool { return asked[kind] != 0 }
	objects, doubted := map[string]int{}, map[string]bool{}
	for _, s := range states { // a kind may occur twice, in several versions
		source := sources[s.From]
		if !slices.ContainsFunc(source.About, isAsked) {
			continue // no rule reads the references of this kind
		}
		name := cmp.Or(s.Kind.GroupKind().String(), string(s.From)) // an invalid declaration has no kind
		objects[name] += source.Referrers
		doubted[name] = doubted[name] || slices.ContainsFunc(source.Doubted, isAsked)
	}
	for name, n := range objects {
		synced := 1.0
		if doubted[name] {
			synced = 0
		}
		g.count = append(g.count, metrics.Referrers.Of(float64(n), name), metrics.Synced.Of(synced, name))
	}
}
