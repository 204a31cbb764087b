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

// maxSkew is how far our clock and the API server's may be apart.
const maxSkew = 5 * time.Second

var errNoDate = errors.New("clock skew is unknown: the API server's response has no Date header")

// clocks is what is wrong with our clock or the API server's by any answer that may still count.
type clocks struct {
	mu  sync.Mutex // reads go on at the same time
	err error
	at  time.Time // when the answer came
}

// begin forgets what an answer said that does not count any more.
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

func (c *clocks) trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ObserveDates gives a transport that compares our clock with the Date of every answer.
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
	worst := skew(date, sent, received)
	metrics.Skew.Set(worst.Seconds())
	d.loop.live.clocks.note(bearable(worst), received)
	return response, nil
}

// skew is how far the server's clock may be from ours at most. A Date is cut to the second, and was taken some time between
// sent and received; doubt counts.
func skew(date, sent, received time.Time) time.Duration {
	return max(received.Sub(date), date.Add(time.Second).Sub(sent))
}

// bearable says that the server's clock may differ from ours by more than allowed.
func bearable(worst time.Duration) error {
	if worst > maxSkew {
		return fmt.Errorf("clock skew: the clocks of the API server and of this node may differ by more than %s; synchronize both", maxSkew)
	}
	return nil
}

// clockEvery is how often a leader compares the clocks, whether or not anything is due.
const clockEvery = 3 * time.Second

// followClock compares the clocks while this process leads. If its clock is behind, nothing seems to be due, and preflight would never
// compare them.
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

// compareClocks compares the clocks by the Date of one answer, whatever else the answer says. Without an answer the last comparison
// counts.
func (l *Reconciler) compareClocks(ctx context.Context) {
	l.live.clocks.begin(l.fresh)
	var answer map[string]any
	err := l.readSoon(ctx, "/version", asJSON, &answer)
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return
	}
	trouble := l.live.clocks.trouble()
	l.mu.Lock()
	defer l.mu.Unlock()
	if (trouble == nil) != (l.skewed == nil) {
		log.FromContext(ctx).Info("clocks compared", "deletionsWait", trouble != nil, "trouble", trouble)
	}
	l.skewed = trouble
}
