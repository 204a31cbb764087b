// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"cmp"
	"maps"
	"time"
)

const (
	restFactor  = 10 // pause of a namespace between two compilations, as a multiple of the duration of the last one
	restOfAll   = 3  // pause of all namespaces that have compiled before, as a multiple of that duration
	longestRest = 2 * time.Second
	turnFactor  = 200 // how long the namespace comes after others, as a multiple of that duration
)

// pause is how long a namespace waits after its policies were compiled.
type pause struct {
	until time.Time // when its next policy may be compiled
	turn  time.Time // namespaces with an earlier turn, or without one, come first
	// length is the length of its policies that wait for compilation.
	length int
}

// before reports whether a namespace comes before another one at a time.
func (p pause) before(o pause, now time.Time) bool {
	if p.until.After(now) || o.until.After(now) {
		return p.until.Before(o.until)
	}
	return cmp.Or(p.turn.Compare(o.turn), cmp.Compare(p.length, o.length)) < 0
}

// totalLength returns the approximate length of the specs of edited policies.
func totalLength(edits []*entry) (n int) {
	for _, e := range edits {
		n += e.length
	}
	return n
}

// textLength returns the length of all strings in a JSON value.
func textLength(value any) (n int) {
	switch value := value.(type) {
	case string:
		return len(value)
	case []any:
		for _, v := range value {
			n += textLength(v)
		}
	case map[string]any:
		for _, v := range value {
			n += textLength(v)
		}
	}
	return n
}

// uncompiled returns the policies that wait for compilation.
func (l *Reconciler) uncompiled() []*entry {
	var all []*entry
	for _, collection := range l.collections() {
		for _, s := range collection.all {
			if s.value.written != nil {
				all = append(all, s.value)
			}
		}
	}
	return all
}

// nextEdits returns what to compile next, and after which pause: all edited ClusterRetentionPolicies, or all edited
// RetentionPolicies of one namespace. Of the namespaces whose pause is over, it chooses the one with the earliest turn. Of
// several without a turn, it chooses the one with the smallest policies, because these compile fast. If no pause is over, it
// chooses the namespace whose pause ends first. The caller calls it again when next is closed.
func (l *Reconciler) nextEdits(ofCluster bool) (edits []*entry, rest time.Duration, next <-chan struct{}) {
	now := l.Clock.Now()
	maps.DeleteFunc(l.compiling.rests, func(_ string, p pause) bool { return !now.Before(p.turn) })
	byNamespace := map[string][]*entry{}
	for _, e := range l.uncompiled() {
		if (e.written.GetNamespace() == "") != ofCluster {
			continue
		}
		byNamespace[e.written.GetNamespace()] = append(byNamespace[e.written.GetNamespace()], e)
	}
	var first pause
	for namespace, all := range byNamespace {
		own := l.compiling.rests[namespace]
		own.length = totalLength(all)
		if edits == nil || own.before(first, now) {
			edits, first = all, own
		}
	}
	if until := l.compiling.until; !first.turn.IsZero() && first.until.Before(until) {
		first.until = until
	}
	return edits, first.until.Sub(now), l.compiling.changed.C()
}

// rest sets the pause of a namespace, by the duration of its last compilation.
func (l *Reconciler) rest(namespace string, began time.Time) {
	took := l.Clock.Since(began)
	if namespace == "" || took <= 0 || !l.complete {
		return
	}
	if l.compiling.rests == nil {
		l.compiling.rests = map[string]pause{}
	}
	now := l.Clock.Now()
	l.compiling.until = now.Add(min(restOfAll*took, longestRest))
	l.compiling.rests[namespace] = pause{until: now.Add(min(restFactor*took, longestRest)), turn: now.Add(turnFactor * took)}
}
