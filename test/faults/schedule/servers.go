package schedule

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scene"
)

// trouble is what a whole server may have.
type trouble string

const (
	lags       trouble = "API server B is cut off from etcd and lags behind"
	pausesA    trouble = "API server A stands still"
	pausesB    trouble = "API server B stands still"
	pausesEtcd trouble = "etcd stands still"
	killsEtcd  trouble = "etcd is dead"
)

const (
	longestOutage = 6 * time.Second
	// patience is how long an answer of a server that works may take.
	patience = 20 * time.Second
	// haste is how long one is waited for while there can be none. What was asked may be carried out all the same, later.
	haste = 100 * time.Millisecond
	// repairs is how long etcd may take to start.
	repairs = time.Minute
)

// outage is trouble of a whole server.
type outage struct {
	trouble
	last time.Duration
}

// outages draws trouble of servers, one at a time, so that mostly somebody can still be asked. In it, replicas begin.
func (d *drawing) outages() {
	for at := d.while(most); at < length; {
		o := outage{pick(d, lags, lags, pausesA, pausesB, pausesEtcd, killsEtcd), d.while(longestOutage)}
		d.lasting(at, o.last, o)
		if d.chance(60) {
			d.add(at+o.last/4, restart{d.IntN(replicas), pick(d, o.begins()...)})
		}
		at += o.last + d.while(most)
	}
}

// begins are the API servers at which a replica begins meanwhile: one that lags behind, or that still answers, or any.
func (o outage) begins() []scene.Server {
	switch o.trouble {
	case lags, pausesA:
		return []scene.Server{scene.B}
	case pausesB:
		return []scene.Server{scene.A}
	default:
		return []scene.Server{scene.A, scene.B}
	}
}

func (o outage) String() string { return string(o.trouble) }

func (o outage) on(t *stage) { t.begin(o) }

func (o outage) begin(t *stage) func() {
	t.hit++
	t.outage = true
	t.Client = o.asks(t)
	end := o.strike(t)
	return func() {
		end()
		t.Client, t.outage = t.Scene.Client, false
	}
}

// asks is how somebody asks an API server meanwhile.
func (o outage) asks(t *stage) client.Client {
	switch o.trouble {
	case lags, pausesB:
		return t.Through(scene.A, patience)
	case pausesA:
		return t.Through(scene.B, patience)
	default:
		return t.Through(scene.A, haste)
	}
}

func (o outage) strike(t *stage) (end func()) {
	switch o.trouble {
	case lags:
		t.Cluster.Relay().Stall()
		return t.Cluster.Relay().Heal
	case pausesA:
		return t.pause(cluster.APIServer)
	case pausesB:
		return t.pause(cluster.SecondAPIServer)
	case pausesEtcd:
		return t.pause(cluster.Etcd)
	default:
		return t.killEtcd()
	}
}

func (t *stage) pause(c cluster.Component) (end func()) {
	if err := t.Cluster.Pause(c); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := t.Cluster.Resume(c); err != nil {
			t.Error(err)
		}
	}
}

func (t *stage) killEtcd() (end func()) {
	if err := t.Cluster.Kill(cluster.Etcd); err != nil {
		t.Fatal(err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), repairs)
		defer cancel()
		if err := t.Cluster.Restart(ctx, cluster.Etcd); err != nil {
			t.Error(err)
		}
	}
}

// awaitServers waits until both API servers answer from etcd, if servers have trouble at all and have none now.
func (t *stage) awaitServers() {
	t.Helper()
	if !t.alone || t.outage {
		return
	}
	for _, server := range []scene.Server{scene.A, scene.B} {
		c := t.Through(server, patience)
		t.Eventually(func() error {
			return c.Get(t.Context(), client.ObjectKey{Name: t.Namespace}, &corev1.Namespace{})
		})
	}
}

// unanswered tells whether a request failed for want of a server that answers, so that nobody knows what became of it.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	}
	var network net.Error
	return errors.As(err, &network)
}
