// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// packable reports whether an entry can be encoded, so that decoding gives the same entry.
func packable(e Entry) bool {
	back, err := ParseLine(line(e))
	kind, kindErr := schema.ParseGroupVersion(e.Kind.GroupVersion().String())
	return err == nil && back.Name == e.Name && back.Is(e.Target) && kindErr == nil &&
		kind == e.Kind.GroupVersion() && e.Kind.Version != "" && e.Kind.Kind != "" && e.Rule != ""
}

// pack encodes entries, in an order that depends only on the entries.
func pack(entries []Entry) []v1alpha1.LedgerIntents {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, compare)
	var groups []v1alpha1.LedgerIntents
	for i, e := range sorted {
		if i == 0 || compareGroups(sorted[i-1], e) != 0 {
			apiVersion, kind := e.Kind.ToAPIVersionAndKind()
			groups = append(groups, v1alpha1.LedgerIntents{Rule: e.Rule, Outcome: e.Outcome, APIVersion: apiVersion, Kind: kind,
				Namespace: e.Namespace})
		}
		last := &groups[len(groups)-1]
		last.Objects = append(last.Objects, line(e))
	}
	return groups
}

func compare(a, b Entry) int {
	return cmp.Or(compareGroups(a, b), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.ResourceVersion, b.ResourceVersion))
}

func compareGroups(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Outcome, b.Outcome),
		cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Version, b.Kind.Version),
		cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Namespace, b.Namespace))
}

func line(e Entry) string {
	return e.Name + " " + string(e.UID) + " " + e.ResourceVersion
}

// unpack decodes the open entries of a ledger. It fails if an entry cannot be decoded, or if pack cannot have written it.
func unpack(o *v1alpha1.RetentionLedger) ([]Entry, error) {
	var entries []Entry
	lines := map[types.UID]string{}
	for i, group := range o.Open {
		gv, err := schema.ParseGroupVersion(group.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("open[%d].apiVersion: %w", i, err)
		}
		if gv.Version == "" || group.Kind == "" || group.Rule == "" {
			return nil, fmt.Errorf("open[%d]: apiVersion, kind or rule is missing", i)
		}
		for j, text := range group.Objects {
			target, err := ParseLine(text)
			if err != nil {
				return nil, fmt.Errorf("open[%d].objects[%d]: %w", i, j, err)
			}
			if other, twice := lines[target.UID]; twice {
				return nil, fmt.Errorf("open[%d].objects[%d]: %q and %q are the same object", i, j, other, text)
			}
			lines[target.UID] = text
			target.Kind, target.Namespace = gv.WithKind(group.Kind), group.Namespace
			entries = append(entries, Entry{Target: target, Rule: group.Rule, Outcome: group.Outcome})
		}
	}
	for i, s := range o.Spent {
		if s.Count < 0 || s.EndTime.IsZero() {
			return nil, fmt.Errorf("spent[%d]: %d until %v", i, s.Count, s.EndTime)
		}
	}
	return entries, nil
}

// ParseLine reads "NAME UID RESOURCEVERSION" of an open deletion from its end, because names of some kinds can contain spaces.
func ParseLine(text string) (policy.Target, error) {
	rest, resourceVersion, ok := cutLast(text)
	name, uid, ok2 := cutLast(rest)
	if !ok || !ok2 || name == "" || uid == "" || resourceVersion == "" {
		return policy.Target{}, fmt.Errorf("%q is not NAME UID RESOURCEVERSION", text)
	}
	return policy.Target{Name: name, UID: types.UID(uid), ResourceVersion: resourceVersion}, nil
}

func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}
