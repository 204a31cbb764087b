package oracle

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// lively checks the end: what the policies of the end let go, and did for longer than the deadline, must be gone. With
// what is checked of each deletion this makes the end that of a run in which nothing was disturbed: what must go is gone,
// and what must stay was not deleted.
func (j *judge) lively() {
	by, settled := j.settled()
	if !settled {
		return
	}
	decided := j.decidedBy()
	for kind := range j.targets() {
		for _, s := range j.Log.Kind(kind, j.Log.Revision) {
			if came, known := j.times.Latest(s.Revision); !known || came.After(by) {
				continue
			}
			o := j.orders(s.GetNamespace(), window{j.Log.Revision, j.Log.Revision})[0]
			v := j.decide(s, o, by)
			if !v.goes || v.by.policy.mayWait(decided[v.by.policy.uid], by) || j.waits(&removal{sent: by}, v, o) != nil {
				continue
			}
			j.violated(Lively, history.Request{}, s, 0, fmt.Sprintf("rule %s lets it go since %s, and it was there at %s", v.by.id(), stamp(v.due), stamp(j.Ended)))
		}
	}
}

// targets are the kinds that the policies of the end are about.
func (j *judge) targets() map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, kind := range []string{clusterKind.Kind, teamKind.Kind} {
		for _, s := range j.finally(kind) {
			for _, r := range j.policyOf(s).rules {
				kinds[r.kind.GroupKind()] = true
			}
		}
	}
	return kinds
}

// uidIn is that of a ledger's line "NAME UID RESOURCEVERSION".
func uidIn(line string) types.UID {
	if words := strings.Fields(line); len(words) == 3 {
		return types.UID(words[1])
	}
	return ""
}
