// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// ownerGraph holds, by UID, the owners of objects, and what keeps objects from being deleted as owners.
type ownerGraph map[types.UID]ownerNode

type ownerNode struct {
	owners  []types.UID
	reasons map[engine.Allowed]error // why it cannot be deleted as an owner, by the exceptions of the rule
}

func (k ownerGraph) add(object map[string]any) {
	meta := MetadataOf(object)
	uid, _ := meta["uid"].(string)
	if uid == "" {
		return
	}
	r := ownerNode{reasons: map[engine.Allowed]error{}}
	for _, allowed := range []engine.Allowed{{}, {Unfinished: true}, {Managed: true}, {Unfinished: true, Managed: true}} {
		r.reasons[allowed] = engine.CheckOwnerDeletion(object, allowed)
	}
	references, _ := meta["ownerReferences"].([]any)
	for _, entry := range references {
		reference, _ := entry.(map[string]any)
		if owner, _ := reference["uid"].(string); owner != "" {
			r.owners = append(r.owners, types.UID(owner))
		}
	}
	k[types.UID(uid)] = r
}

// addOwners adds propagation, number of dependents and obstacles to the rows of objects that are deleted with their owner.
func (j *Judge) addOwners(result *Result, byWorker []*results) {
	all := ownerGraph{}
	for _, s := range byWorker {
		maps.Copy(all, s.owners)
	}
	owned, counts := all.owned(), map[types.UID]int{}
	for i := range result.Rows {
		row := &result.Rows[i]
		owner, rule := row.Verdict.Owner, j.rules.snapshot.Rule(row.Verdict.Rule)
		if owner == nil || rule == nil {
			continue
		}
		row.Propagation = rule.Propagation
		if !j.Whole {
			continue
		}
		if _, counted := counts[owner.UID]; !counted {
			counts[owner.UID] = len(ownedBy(owner.UID, owned)) - 1
		}
		row.Dependents = counts[owner.UID]
		if row.Verdict.IsKept() {
			continue
		}
		if why := all.reasonToKeep(owner.UID, rule); why != nil {
			row.Blocked = "blocked: owner " + owner.String() + " " + why.Error()
		}
	}
}

// owned returns the dependents of each owner.
func (k ownerGraph) owned() map[types.UID][]types.UID {
	owned := map[types.UID][]types.UID{}
	for uid, r := range k {
		for _, owner := range r.owners {
			owned[owner] = append(owned[owner], uid)
		}
	}
	return owned
}

// ownedBy returns an owner and all its direct and indirect dependents.
func ownedBy(uid types.UID, owned map[types.UID][]types.UID) map[types.UID]bool {
	found, next := map[types.UID]bool{uid: true}, []types.UID{uid}
	for len(next) > 0 {
		uid, next = next[0], next[1:]
		for _, dependent := range owned[uid] {
			if !found[dependent] {
				found[dependent] = true
				next = append(next, dependent)
			}
		}
	}
	return found
}

var errNotGiven = errors.New("is not among the objects")

// reasonToKeep returns why a rule cannot delete an owner, or nil.
func (k ownerGraph) reasonToKeep(uid types.UID, rule *policy.Rule) error {
	r, known := k[uid]
	if !known {
		return errNotGiven
	}
	return r.reasons[engine.Allowed{Unfinished: rule.AllowUnfinished, Managed: rule.AllowManaged}]
}
