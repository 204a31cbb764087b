// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
)

// LeaveOut separates the records whose objects Sunset deleted, as a ledger counts, and those that Kept selects, from others: another
// client deleted these objects, or it is not known what happened. Those that the user names, by name or UID, are not left out. It also
// leaves out records of an object with a newer record that is not chosen, because the object was not the last one of its name. It drops
// records of versions that Sunset did not delete, unless Kept selects them.
func (s *Selection) LeaveOut(all []Entry) (chosen, leftOut []Entry) {
	newest := map[audit.Object]time.Time{} // of the records that are not chosen
	for _, e := range all {
		isKept := e.Meta.Result == archive.Kept && !s.Kept
		isDone := slices.Contains([]archive.Result{archive.Deleted, archive.Gone, archive.Kept}, e.Meta.Result)
		isNamed := s.UID != "" || slices.ContainsFunc(s.Objects, func(o Object) bool { return o.Name != "" && e.is(o) })
		if !isKept && (isDone || isNamed) {
			chosen = append(chosen, e)
			continue
		}
		if !isKept {
			leftOut = append(leftOut, e)
		}
		if name := e.named(); !isNamed && e.ArchivedAt.After(newest[name]) {
			newest[name] = e.ArchivedAt
		}
	}
	all, chosen = chosen, nil
	for _, e := range all {
		if e.ArchivedAt.Before(newest[e.named()]) {
			leftOut = append(leftOut, e)
		} else {
			chosen = append(chosen, e)
		}
	}
	return chosen, leftOut
}

// named returns the name of the object, without versions.
func (e Entry) named() audit.Object {
	kind, name := e.Kind()
	return audit.Object{APIVersion: kind.Group, Kind: kind.Kind, Namespace: e.Namespace, Name: name}
}
