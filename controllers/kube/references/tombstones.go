// SPDX-License-Identifier: Apache-2.0

package references

import (
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// remembered is how long a target is kept after its last reference was removed. After the quiet period, the time of the removal
// makes no difference.
const remembered = 2 * policy.QuietPeriod

// tombstone is a target whose last reference was removed, or that no longer exists.
type tombstone struct {
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

// isUnknown reports whether nothing refers to a target, and it is not known to exist.
func (t *target) isUnknown() bool { return len(t.by)+len(t.is) == 0 }

// noteRemoved records that a reference to a target was removed, or the target itself, or that it is used less in another way.
func (x *Index) noteRemoved(t *target) {
	t.lastRemoved = nanosOf(x.clock.Now())
	if t.isUnknown() {
		x.tombstones = append(x.tombstones, tombstone{t, t.lastRemoved})
	}
	x.forget() // after t.lastRemoved is set: otherwise an old tombstone could drop t
}

// forget drops the targets whose last reference was removed so long ago that it makes no difference.
func (x *Index) forget() {
	if len(x.tombstones) == 0 {
		return
	}
	before, n := nanosOf(x.clock.Now().Add(-remembered)), 0
	for n < len(x.tombstones) && x.tombstones[n].at < before {
		if t := x.tombstones[n].target; t.isUnknown() && t.lastRemoved == x.tombstones[n].at {
			delete(x.targets, t.Target)
		}
		n++
	}
	clear(x.tombstones[:n])
	if x.tombstones = x.tombstones[n:]; len(x.tombstones) == 0 {
		x.tombstones = nil
	}
}
