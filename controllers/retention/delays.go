// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// DelayedAfter is how long all attempts must meet an obstacle before it counts as a Delay. Many obstacles are temporary.
const DelayedAfter = 10 * time.Second

// delayedKept is how many objects of one namespace and kind are remembered: enough to name one while others come and go.
const delayedKept = 100

// Delay is why a policy has not deleted due objects of one namespace, although it has tried for DelayedAfter.
type Delay struct {
	Policy    string
	Namespace string // empty for objects without one
	Name      string // the first by name of the objects
	Reason    string // CamelCase, a reason of the condition Delayed
	Message   string // the error, and what to do
}

// Compare orders by reason, namespace, name and policy. SnapshotPending, which mostly ends without help, comes after other reasons.
func (d Delay) Compare(o Delay) int {
	order := func(reason string) string { return strings.Replace(reason, SnapshotPending, "~", 1) }
	return cmp.Or(strings.Compare(order(d.Reason), order(o.Reason)), strings.Compare(d.Namespace, o.Namespace), strings.Compare(d.Name, o.Name), strings.Compare(d.Policy, o.Policy))
}

// messageLasts is how long the message of a Delay stays the same, unless its reason changes: errors may contain numbers that change.
const messageLasts = 5 * time.Minute

// delays remembers the obstacles of the latest attempts to delete or mark objects. The zero value is ready.
type delays struct {
	mu        sync.Mutex
	obstacles map[item]obstacle
	count     map[string]int // by namespace
	version   uint64         // increases when an obstacle begins to last, ends, or has another reason or message
}

// obstacle is why attempts for one object fail.
type obstacle struct {
	Delay
	since       time.Time // of the message
	first, last time.Time // of the attempts in a row that met an obstacle
	renewed     time.Time // when an attempt only recorded the object again
}

func (o obstacle) lasts() bool { return o.last.Sub(o.first) >= DelayedAfter }

// addObstacle records the obstacle of an attempt.
func (d *delays) addObstacle(it item, delay Delay, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.obstacles == nil {
		d.obstacles, d.count = map[item]obstacle{}, map[string]int{}
	}
	o, known := d.obstacles[it]
	before := o
	switch {
	case !known && d.count[it.namespace] >= delayedKept:
		return
	case !known:
		d.count[it.namespace]++
		o.first = now
	}
	if o.Reason != delay.Reason || o.Message != delay.Message && now.Sub(o.since) >= messageLasts {
		o.Delay, o.since = delay, now
	}
	o.last = now
	d.set(it, before, o)
}

// set replaces an obstacle. The caller holds mu.
func (d *delays) set(it item, before, o obstacle) {
	d.obstacles[it] = o
	if o.lasts() && (!before.lasts() || o.Delay != before.Delay) {
		d.version++
	}
}

// renew notes that an object is being recorded again, so that its obstacle does not end before the next DELETE.
func (d *delays) renew(it item, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o, known := d.obstacles[it]; known {
		o.renewed = now
		d.obstacles[it] = o
	}
}

// addFailure records why an attempt failed to delete or mark an object, or to delete its owner instead (nil for none).
func (d *delays) addFailure(it item, owner *policy.Owner, o Outcome, now time.Time) {
	switch o.Result {
	case Denied:
		d.addObstacle(it, Delay{Reason: "Denied", Message: short(o.Err) + "; grant the permission to the ServiceAccount"}, now)
	case Refused:
		if owner != nil {
			d.addOwnerKept(it, owner, o.Err, now)
			return
		}
		d.addObstacle(it, Delay{Reason: "Refused", Message: short(o.Err) + "; change the object, or the admission policy or webhook that denies the request"}, now)
	case Unadmitted, Failed, Busy:
		d.addObstacle(it, Delay{Reason: "Failing", Message: short(o.Err) + "; check the admission webhooks and the API server"}, now)
	}
}

// delayOf is the Delay for an error about a VolumeSnapshot.
func delayOf(err error) Delay {
	switch {
	case errors.Is(err, policy.ErrSnapshotPending):
		return Delay{Reason: SnapshotPending, Message: short(err)}
	case errors.Is(err, policy.ErrSnapshotFailed):
		return Delay{Reason: SnapshotFailed, Message: short(err)}
	default:
		return Delay{Reason: SnapshotUnavailable, Message: short(err)}
	}
}

// short returns the text of an error: that of an admission webhook may be long.
func short(err error) string { return policy.Shorten(err.Error(), 512) }

// addOwnerKept records why the owner of an object is kept, although a rule would delete it instead of the object.
func (d *delays) addOwnerKept(it item, owner *policy.Owner, why error, now time.Time) {
	d.addObstacle(it, Delay{Reason: "OwnerKept", Message: fmt.Sprintf("its owner %s is kept: %s", owner, short(why))}, now)
}

// ended removes the obstacle of an object if the attempt that began at the given time met none.
func (d *delays) ended(it item, began time.Time) {
	d.forget(it, func(o obstacle) bool { return o.last.Before(began) && o.renewed.Before(began) })
}

// deleted removes the obstacle of an object that was deleted.
func (d *delays) deleted(it item) { d.forget(it, func(obstacle) bool { return true }) }

func (d *delays) forget(it item, ends func(obstacle) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o, known := d.obstacles[it]; known && ends(o) {
		delete(d.obstacles, it)
		if o.lasts() {
			d.version++
		}
		if d.count[it.namespace]--; d.count[it.namespace] == 0 {
			delete(d.count, it.namespace)
		}
	}
}

// outdated is when an obstacle ends without an attempt, for example because limits hold the object: longer than the pause between attempts.
const outdated = retryRefused + time.Minute

// lasting returns the obstacles that have lasted for DelayedAfter.
func (d *delays) lasting(now time.Time) map[item]obstacle {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[item]obstacle{}
	for it, o := range d.obstacles {
		if o.lasts() && now.Sub(o.last) < outdated {
			all[it] = o
		}
	}
	return all
}

func (d *delays) lastingVersion() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.version
}

// byUID returns the obstacles that have lasted for DelayedAfter, without their policies and objects.
func (d *delays) byUID(now time.Time) map[types.UID]Delay {
	all := map[types.UID]Delay{}
	for it, o := range d.lasting(now) {
		all[it.uid] = o.Delay
	}
	return all
}

// delays returns one Delay for each policy, namespace and reason, in order.
func (w *watchedKind) delays(now time.Time) []Delay {
	type group struct{ by, namespace, reason string }
	first := map[group]Delay{}
	for it, o := range w.pipeline.delays.lasting(now) {
		j, known := w.index.Peek(it.uid, now)
		subject, _ := w.index.Subject(it.uid)
		d := o.Delay
		d.Policy, d.Namespace, d.Name = policyOf(j), subject.Namespace, subject.Name
		key := group{d.Policy, d.Namespace, d.Reason}
		if was, ok := first[key]; known && d.Policy != "" && (!ok || d.Name < was.Name) {
			first[key] = d
		}
	}
	return slices.SortedFunc(maps.Values(first), Delay.Compare)
}

// policyOf returns the policy that would delete or mark an object; empty if none would.
func policyOf(j index.Decision) string {
	switch rules := j.Rules(); {
	case len(rules) > 0:
		return rules[0].ID.Policy
	case j.Expected.Rule != nil:
		return j.Expected.Rule.ID.Policy
	default:
		return ""
	}
}
