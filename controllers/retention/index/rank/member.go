package rank

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// member is policy.Member, packed: there are as many as subjects.
type member struct {
	uid     types.UID
	space   *space // nil when it has left
	group   *group
	seconds int64 // its start, since 1970
	nanos   int32
	told    policy.RankResult // its standing when the last call returned
	touched bool              // it is among the changes of this call
}

// newer is the order of policy.Ranking.
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

// is reports whether the member is known as such, and so has its place already.
func (m *member) is(o policy.Candidate) bool {
	return m.space != nil && m.space.name == o.Namespace && m.group.is(o) &&
		m.seconds == o.Start.Unix() && m.nanos == int32(o.Start.Nanosecond())
}

// standing is where it stands now, between the lines as they are.
func (m *member) standing() policy.RankResult {
	if m.space == nil {
		return policy.RankResult{}
	}
	return policy.RankResult{Newest: m.group.keeps(m), Excess: !m.space.stay.isFirst(m)}
}
