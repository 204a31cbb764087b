// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	tickEvery    = 5 * time.Second
	listTimeout  = 4 * time.Second  // of reading the RetentionDigests from the cache, which waits for the first list
	absentPause  = time.Minute      // before another attempt to watch them, if the API server does not have the kind
	atOnce       = 4                // digests that are composed or sent at the same time
	workTimeout  = time.Minute      // of composing and sending one digest
	writeTimeout = 10 * time.Second // of its status, also while the process ends
	firstBackoff = 10 * time.Second
	maxBackoff   = 10 * time.Minute
)

// Options are the dependencies of a Notifier.
type Options struct {
	Cache      client.Reader              // of RetentionDigests
	Client     client.Client              // writes their status
	Live       client.Reader              // reads policies, ledgers and Secrets from the API server
	State      State                      // counts objects
	Complete   func() bool                // whether all policies have been read, so that State is complete
	Leadership interface{ Check() error } // whether this process leads
	Clock      clock.WithTicker
	Namespace  string         // of Sunset, which has the Secrets
	Prices     *policy.Prices // of storage; nil for none
}

// State is the state of the reconciler that a Notifier reads.
type State interface{ Kinds() []retention.KindState }

// Notifier sends digests. Create it with New.
type Notifier struct {
	Options
	sender  *sender
	slots   chan struct{}
	working sync.WaitGroup

	absentUntil time.Time

	mu    sync.Mutex
	known map[types.UID]*state
}

// state is what a Notifier remembers about a RetentionDigest.
type state struct {
	name       string
	generation int64
	working    bool
	failures   int
	retryAt    time.Time              // after a failure; zero otherwise
	status     *v1alpha1.DigestStatus // as last accepted, which the cache may not have yet; nil if none is known
}

// New returns a Notifier.
func New(o Options) *Notifier {
	return &Notifier{
		Options: o, slots: make(chan struct{}, atOnce), known: map[types.UID]*state{},
		sender: &sender{
			secrets: secrets{o.Live, o.Namespace}, dial: dialer().DialContext, proxy: http.ProxyFromEnvironment, userAgent: version.Get().UserAgent("sunset-controller"), now: o.Clock.Now,
		},
	}
}

// NeedLeaderElection returns true: only the leader sends.
func (n *Notifier) NeedLeaderElection() bool { return true }

// Start runs until ctx ends.
func (n *Notifier) Start(ctx context.Context) error {
	ticker := n.Clock.NewTicker(tickEvery)
	defer ticker.Stop()
	defer n.working.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			n.tick(ctx)
		}
	}
}

// tick starts work on each digest that may need it.
func (n *Notifier) tick(ctx context.Context) {
	now := n.Clock.Now()
	if now.Before(n.absentUntil) {
		return
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.RetentionDigestKind.Kind + "List"))
	reading, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := n.Cache.List(reading, list); err != nil {
		log.FromContext(ctx).V(1).Info("RetentionDigests not read", "err", err.Error())
		n.absentUntil = now.Add(absentPause)
		return
	}
	exists := map[types.UID]bool{}
	for i := range list.Items {
		object := &list.Items[i]
		exists[object.GetUID()] = true
		if object.GetDeletionTimestamp() != nil {
			continue
		}
		j := parse(object)
		if n.begin(j, now) {
			n.working.Go(func() { n.work(ctx, j) })
		}
	}
	n.forget(exists)
}

// begin reports whether there is work on a digest that can begin now.
func (n *Notifier) begin(j *job, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.known[j.written.UID]
	if s == nil {
		s = &state{name: j.written.Name}
		n.known[j.written.UID] = s
	}
	if s.working {
		return false
	}
	if s.generation != j.written.Generation { // a user may have corrected what failed
		s.generation, s.failures, s.retryAt = j.written.Generation, 0, time.Time{}
	}
	j.resume(s.status)
	if now.Before(s.retryAt) {
		return false
	}
	if j.isIdle(now) {
		j.reportFailing(nil) // the process may have started after the status was written
		return false
	}
	select {
	case n.slots <- struct{}{}:
		s.working = true
		return true
	default:
		return false
	}
}

// end records the result of work on a digest.
func (n *Notifier) end(uid types.UID, status *v1alpha1.DigestStatus, err error) {
	<-n.slots
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.known[uid]
	if s == nil {
		return
	}
	s.working, s.status = false, status
	if err == nil {
		s.failures, s.retryAt = 0, time.Time{}
		return
	}
	s.failures++
	s.retryAt = n.Clock.Now().Add(backoff(s.failures, err))
}

// forget drops digests that no longer exist.
func (n *Notifier) forget(exists map[types.UID]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for uid, s := range n.known {
		if !exists[uid] && !s.working {
			delete(n.known, uid)
			metrics.ForgetDigest(s.name)
		}
	}
}
