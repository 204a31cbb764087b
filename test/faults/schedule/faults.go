// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// fault draws a fault of a replica that starts at a moment and lasts for a while.
func (d *drawing) fault(at time.Duration) {
	i, last := d.IntN(replicas), d.while(most)
	switch d.IntN(10) {
	case 0, 1, 2, 3:
		d.add(at, d.strike())
	case 4:
		d.lasting(at, last, freeze{i, pick(d, watched...), last})
	case 5:
		d.frames(at, last, i)
	case 6:
		d.lasting(at, last, skew{i, pick(d, -time.Minute, 8*time.Second, time.Hour), last})
	case 7:
		d.add(at, kill{i, d.chance(60)})
		d.add(at+last, restart{i, pick(d, scenario.A, scenario.B)})
	case 8:
		d.add(at, stop{i})
		d.add(at+d.while(2*most), resume{i})
	default:
		d.add(at, turn{i})
	}
}

// lasting adds an action that ends after a while.
func (d *drawing) lasting(at, last time.Duration, a undone) {
	d.add(at, a)
	d.add(at+last, undo{a})
}

var watched = []string{"configmaps", "jobs", "pods", "clusterretentionpolicies", "retentionpolicies", "clusterretentionapprovals", "retentionapprovals", "namespaces"}

// requestFault is a fault of some requests of every replica.
type requestFault struct {
	verb, resource string
	proxy.Fault
}

func (s requestFault) String() string {
	what := fmt.Sprintf("delayed by %s", s.Delay)
	switch {
	case s.Drop == proxy.Before:
		what = "lost before the server"
	case s.Drop == proxy.After:
		what = "lost after the server's answer"
	case s.Answer != nil:
		what = fmt.Sprintf("answered with %d", s.Answer.Code)
	}
	return fmt.Sprintf("%d of %s %s of each replica, after %d, %s", s.Times, s.verb, s.resource, s.Skip, what)
}

func (d *drawing) strike() requestFault {
	s := requestFault{verb: "delete", resource: pick(d, "configmaps", "configmaps", "jobs", "pods")}
	if d.chance(50) {
		of := pick(d, [2]string{"update", "retentionledgers"}, [2]string{"list", "clusterretentionpolicies"}, [2]string{"list", "retentionpolicies"},
			[2]string{"list", "clusterretentionapprovals"}, [2]string{"get", "namespaces"}, [2]string{"patch", "configmaps"}, [2]string{"update", "leases"}, [2]string{"list", "configmaps"},
			[2]string{"list", "jobs"}, [2]string{"list", "pods"})
		s.verb, s.resource = of[0], of[1]
	}
	s.Fault = proxy.Fault{Match: proxy.Requests(s.verb, s.resource), Skip: d.IntN(3), Times: 1 + d.IntN(4)}
	switch d.IntN(5) {
	case 0, 1:
		s.Delay = d.while(most)
	case 2:
		s.Drop = proxy.Before
	case 3:
		s.Drop = proxy.After
	default:
		s.Answer = pick(d,
			&proxy.Answer{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Headers: map[string]string{"Retry-After": "1"}},
			&proxy.Answer{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError},
			&proxy.Answer{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable},
			&proxy.Answer{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict})
	}
	return s
}

func (s requestFault) on(t *stage) {
	for _, r := range t.replicas {
		t.armed = append(t.armed, r.Proxy.Arm(s.Fault))
	}
}

// undone is an action that can be ended.
type undone interface {
	action
	begin(*stage) (end func())
}

// undo ends another action.
type undo struct{ undone }

func (u undo) String() string { return "end: " + u.undone.String() }

func (u undo) on(t *stage) { t.undo(u.undone) }

// freeze suspends watches.
type freeze struct {
	replica  int
	resource string
	last     time.Duration
}

func (f freeze) String() string {
	return fmt.Sprintf("replica %d: watches of %s freeze", f.replica, f.resource)
}

func (f freeze) on(t *stage) { t.begin(f) }

func (f freeze) begin(t *stage) func() {
	return t.replicas[f.replica].Proxy.Freeze(proxy.Requests("watch", f.resource))
}

// frames duplicates or drops events of watches.
type frames struct {
	replica  int
	resource string
	drops    bool
	every    int
	last     time.Duration
}

func (d *drawing) frames(at, last time.Duration, i int) {
	f := frames{i, pick(d, watched...), d.chance(50), 1 + d.IntN(3), last}
	d.blind = d.blind || f.drops
	d.lasting(at, last, f)
}

func (f frames) String() string {
	what := "are sent twice"
	if f.drops {
		what = "are dropped"
	}
	return fmt.Sprintf("replica %d: of %s every %d. events %s", f.replica, f.resource, f.every, what)
}

func (f frames) on(t *stage) { t.begin(f) }

func (f frames) begin(t *stage) func() {
	n := 0
	return t.replicas[f.replica].Proxy.Frames(proxy.Requests("watch", f.resource), func(event []byte) [][]byte {
		n++
		switch {
		case n%f.every != 0:
			return [][]byte{event}
		case f.drops:
			return nil
		default:
			return [][]byte{event, event}
		}
	})
}

// skew makes the API server's clock seem wrong.
type skew struct {
	replica  int
	by, last time.Duration
}

func (k skew) String() string {
	return fmt.Sprintf("replica %d: the API server's clock is %s ahead", k.replica, k.by)
}

func (k skew) on(t *stage) { t.begin(k) }

func (k skew) begin(t *stage) func() {
	t.replicas[k.replica].Proxy.Skew(k.by)
	return func() { t.replicas[k.replica].Proxy.Skew(0) }
}

// kill ends a replica with SIGKILL or SIGTERM.
type kill struct {
	replica int
	hard    bool
}

func (k kill) String() string { return fmt.Sprintf("replica %d: ends, killed: %v", k.replica, k.hard) }

func (k kill) on(t *stage) {
	r := t.replicas[k.replica]
	switch {
	case !r.Running():
	case k.hard || t.stopped[k.replica] || t.outage: // without a server it may not end cleanly
		r.Kill()
		t.hit++
	default:
		r.Interrupt()
		t.hit++
	}
	t.stopped[k.replica] = false
}

// restart starts a replica again, at one of the API servers.
type restart struct {
	replica int
	server  scenario.Server
}

func (r restart) String() string {
	return fmt.Sprintf("replica %d: starts at API server %c", r.replica, 'A'+rune(r.server))
}

func (r restart) on(t *stage) {
	t.stopped[r.replica] = false
	t.replicas[r.replica].Restart(func(s *scenario.Start) { s.Server = r.server })
}

// stop suspends a replica, and resume resumes it.
type stop struct{ replica int }

func (s stop) String() string { return fmt.Sprintf("replica %d: is suspended", s.replica) }

func (s stop) on(t *stage) {
	if r := t.replicas[s.replica]; r.Running() {
		r.Stop()
		t.stopped[s.replica] = true
		t.hit++
	}
}

type resume struct{ replica int }

func (g resume) String() string { return fmt.Sprintf("replica %d: resumes", g.replica) }

func (g resume) on(t *stage) {
	if t.stopped[g.replica] {
		t.replicas[g.replica].Cont()
		t.stopped[g.replica] = false
	}
}

// turn closes every connection of a replica.
type turn struct{ replica int }

func (u turn) String() string {
	return fmt.Sprintf("replica %d: all connections are closed", u.replica)
}

func (u turn) on(t *stage) { t.replicas[u.replica].Proxy.Cut() }
