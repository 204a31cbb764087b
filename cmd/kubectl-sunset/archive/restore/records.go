// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"encoding/json"
	"fmt"
	"slices"

	kjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/redact"
)

// Records returns the objects of a record of an archive: its object, and the dependents that can be restored. name names the archive.
func Records(name string, found archive.Found) ([]Record, error) {
	documents := append([]json.RawMessage{found.Record.Object}, found.Record.Dependents...)
	from := fmt.Sprintf("%s/%s#%d", name, found.Segment, found.Line)
	redacted, err := redactedIn(documents, found.Record.Redacted)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", from, err)
	}
	var all []Record
	left := map[string]int{}
	for i, document := range documents {
		r := Record{Redacted: redacted[i], From: from, ArchivedAt: found.Record.ArchivedAt}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &r.Object); err != nil {
			return nil, fmt.Errorf("record %s: object %d: %w", from, i, err)
		}
		if kind := refOf(r.Object).GroupKind(); i > 0 && viewOnly[kind] != "" {
			left[kind.String()]++
			continue
		}
		all = append(all, r)
	}
	for kind, n := range left {
		all[0].Left = append(all[0].Left, fmt.Sprintf("%d of kind %s", n, kind))
	}
	slices.Sort(all[0].Left)
	return all, nil
}

// lastApplied is the annotation with kubectl's copy of an object. Where a rule redacts anything, the copy is redacted as a whole.
const (
	lastApplied     = "kubectl.kubernetes.io/last-applied-configuration"
	lastAppliedPath = "metadata.annotations['" + lastApplied + "']"
)

// redactedIn returns, for each document, the paths whose values it lacks. A record does not say which document a path is about: it is
// about those that it matches or, since values other than strings are removed, about all if it matches none.
func redactedIn(documents []json.RawMessage, paths []string) ([][]string, error) {
	in := make([][]string, len(documents))
	for _, text := range paths {
		if text == lastAppliedPath {
			continue // a restored object does not need this copy of itself
		}
		path, err := redact.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("redacted path %s: %w", text, err)
		}
		matches, some := make([]bool, len(documents)), false
		for i, document := range documents {
			_, matched, err := redact.Apply(document, []redact.Path{path})
			if err != nil {
				return nil, err
			}
			matches[i] = len(matched) > 0
			some = some || matches[i]
		}
		for i := range documents {
			if matches[i] || !some {
				in[i] = append(in[i], text)
			}
		}
	}
	return in, nil
}
