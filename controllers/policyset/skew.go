// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
)

// maxSkew is how far our clock and the API server's clock may differ.
const maxSkew = 5 * time.Second

var errNoDate = errors.New("clock skew is unknown: the API server's response has no Date header")

// clocks records the clock skew that any response has shown, as long as the response may count.
type clocks struct {
	mu  sync.Mutex // reads run in parallel
	err error
	at  time.Time // when the response arrived
}

// begin drops the error of a response that no longer counts.
func (c *clocks) begin(counts func(time.Time) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !counts(c.at) {
		c.err = nil
	}
}

func (c *clocks) note(err error, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err, c.at = err, at
	}
}

func (c *clocks) lastErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ObserveDates returns a transport that compares our clock with the Date header of every response.
func (l *Reconciler) ObserveDates(next http.RoundTripper) http.RoundTripper {
	return dates{next: next, loop: l}
}

type dates struct {
	next http.RoundTripper
	loop *Reconciler
}

// RoundTrip implements http.RoundTripper.
func (d dates) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := d.loop.Clock.Now()
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	received := d.loop.Clock.Now()
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		d.loop.live.clocks.note(errNoDate, received)
		return response, nil
	}
	if received.Sub(sent) <= readTimeout { // a slower response says little about the clocks, and no deletion relies on it
		worst := skew(date, sent, received)
		metrics.Skew.Set(worst.Seconds())
		d.loop.live.clocks.note(checkSkew(worst), received)
	}
	return response, nil
}

// skew returns how far the server's clock may differ from ours at most. The server truncates a Date to seconds, and sets it at
// some time between sent and received: the worst case counts.
func skew(date, sent, received time.Time) time.Duration {
	return max(received.Sub(date), date.Add(time.Second).Sub(sent))
}

// checkSkew returns an error if the server's clock may differ from ours by more than maxSkew.
func checkSkew(worst time.Duration) error {
	if worst > maxSkew {
		return fmt.Errorf("clock skew: the clocks of the API server and of this node may differ by more than %s; synchronize both clocks, for example with NTP", maxSkew)
	}
	return nil
}

// clockEvery is how often a leader compares the clocks, even if nothing is due.
const clockEvery = 3 * time.Second

// followClock compares the clocks while this process leads. If its clock is behind, no object appears to be due, and preflight
// would never compare the clocks.
func (l *Reconciler) followClock(ctx context.Context) error {
	for {
		l.compareClocks(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-l.Clock.After(clockEvery):
		}
	}
}

// compareClocks compares the clocks by the Date of one response, even if that is an error. Without a response, the last
// comparison counts.
func (l *Reconciler) compareClocks(ctx context.Context) {
	l.live.clocks.begin(l.fresh)
	var answer map[string]any
	err := l.readSoon(ctx, "/version", asJSON, &answer)
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return
	}
	skewErr := l.live.clocks.lastErr()
	l.mu.Lock()
	defer l.mu.Unlock()
	if (skewErr == nil) != (l.skewed == nil) {
		log.FromContext(ctx).Info("clocks compared", "deletionsWait", skewErr != nil, "reason", skewErr)
	}
	l.skewed = skewErr
}
