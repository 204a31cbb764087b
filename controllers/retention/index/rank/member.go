// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// member is a policy.Candidate, packed, because there is one for each subject.
type member struct {
	uid       types.UID
	namespace *namespace // nil after it was removed
	group     *group
	seconds   int64 // its start, in seconds since 1970
	nanos     int32
	reported  policy.RankResult // its rank result at the end of the last call
	touched   bool              // it is among the changes of this call
}

// newer orders members like policy.Ranking.
func newer(a, b *member) bool {
	switch {
	case a.seconds != b.seconds:
		return a.seconds > b.seconds
	case a.nanos != b.nanos:
		return a.nanos > b.nanos
	default:
		return a.uid < b.uid
	}
}

// is reports whether the member already has these values, and so its place.
func (m *member) is(o policy.Candidate) bool {
	return m.namespace != nil && m.namespace.name == o.Namespace && m.group.is(o) &&
		m.seconds == o.Start.Unix() && m.nanos == int32(o.Start.Nanosecond())
}

// result returns its current rank result.
func (m *member) result() policy.RankResult {
	if m.namespace == nil {
		return policy.RankResult{}
	}
	return policy.RankResult{Newest: m.group.keeps(m), Excess: !m.namespace.stay.isFirst(m)}
}
