// SPDX-License-Identifier: Apache-2.0

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
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// serverFault is a fault of a whole server, in words for the schedule.
type serverFault string

const (
	lags       serverFault = "API server B is disconnected from etcd and lags behind"
	pausesA    serverFault = "API server A is suspended"
	pausesB    serverFault = "API server B is suspended"
	pausesEtcd serverFault = "etcd is suspended"
	killsEtcd  serverFault = "etcd is killed"
)

const (
	longestOutage = 6 * time.Second
	// patience is the timeout for an answer of a working server.
	patience = 20 * time.Second
	// haste is the timeout while there may be no answer. The server may still carry out the request later.
	haste = 100 * time.Millisecond
	// repairs is how long etcd may take to start.
	repairs = time.Minute
)

// outage is a fault of a whole server for a while.
type outage struct {
	serverFault
	last time.Duration
}

// outages draws faults of servers, one at a time, so that usually another server answers. Replicas may restart during a
// fault.
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

// begins returns the API servers at which a replica may start during the outage: the lagging server, the one that still
// answers, or any.
func (o outage) begins() []scenario.Server {
	switch o.serverFault {
	case lags, pausesA:
		return []scenario.Server{scenario.B}
	case pausesB:
		return []scenario.Server{scenario.A}
	default:
		return []scenario.Server{scenario.A, scenario.B}
	}
}

func (o outage) String() string { return string(o.serverFault) }

func (o outage) on(t *stage) { t.begin(o) }

func (o outage) begin(t *stage) func() {
	t.hit++
	t.outage = true
	t.Client = o.asks(t)
	end := o.strike(t)
	return func() {
		end()
		t.Client, t.outage = t.Scenario.Client, false
	}
}

// asks returns the client that users have during the outage.
func (o outage) asks(t *stage) client.Client {
	switch o.serverFault {
	case lags, pausesB:
		return t.Through(scenario.A, patience)
	case pausesA:
		return t.Through(scenario.B, patience)
	default:
		return t.Through(scenario.A, haste)
	}
}

func (o outage) strike(t *stage) (end func()) {
	switch o.serverFault {
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
	expect.NoError(t, t.Cluster.Pause(c))
	return func() {
		if err := t.Cluster.Resume(c); err != nil {
			t.Error(err)
		}
	}
}

func (t *stage) killEtcd() (end func()) {
	expect.NoError(t, t.Cluster.Kill(cluster.Etcd))
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), repairs)
		defer cancel()
		if err := t.Cluster.Restart(ctx, cluster.Etcd); err != nil {
			t.Error(err)
		}
	}
}

// awaitServers waits until both API servers answer from etcd, if the schedule includes outages and there is none now.
func (t *stage) awaitServers() {
	t.Helper()
	if !t.alone || t.outage {
		return
	}
	for _, server := range []scenario.Server{scenario.A, scenario.B} {
		c := t.Through(server, patience)
		t.Eventually(func() error {
			return c.Get(t.Context(), client.ObjectKey{Name: t.Namespace}, &corev1.Namespace{})
		})
	}
}

// unanswered reports whether a request failed because no server answered, so that its result is unknown.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	}
	var network net.Error
	return errors.As(err, &network)
}
