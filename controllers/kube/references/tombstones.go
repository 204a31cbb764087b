package references

import (
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// remembered is how long a target is kept after its last reference was removed. After the quiet period, the time of the removal
// makes no difference.
const remembered = 2 * policy.QuietPeriod

// tombstones is a target whose last reference was removed.
type tombstones struct {
	target *target
	at     nanos
}

// nanos is a time in nanoseconds since 1970, or 0 for none. It needs less memory than time.Time.
type nanos int64

func nanosOf(t time.Time) nanos { return nanos(t.UnixNano()) }

func (n nanos) time() time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n)).UTC()
}

// leave records that a reference to a target was removed.
func (x *Index) leave(t *target) {
	t.less = nanosOf(x.clock.Now())
	if len(t.by) == 0 {
		x.left = append(x.left, tombstones{t, t.less})
	}
	x.forget() // after t.less is set: otherwise an old tombstone could drop t
}

// forget drops the targets whose last reference was removed so long ago that it makes no difference.
func (x *Index) forget() {
	if len(x.left) == 0 {
		return
	}
	before, n := nanosOf(x.clock.Now().Add(-remembered)), 0
	for n < len(x.left) && x.left[n].at < before {
		if t := x.left[n].target; len(t.by) == 0 && t.less == x.left[n].at {
			delete(x.targets, t.Target)
		}
		n++
	}
	clear(x.left[:n])
	if x.left = x.left[n:]; len(x.left) == 0 {
		x.left = nil
	}
}
