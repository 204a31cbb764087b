// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// ObserveDates returns a transport that compares our clock with the Date header of every response.
func (l *Reconciler) ObserveDates(next http.RoundTripper) http.RoundTripper {
	return &skew.Observer{
		Next: next, Clocks: &l.live.clocks, Now: func() time.Time { return l.Clock.Now() }, Timeout: readTimeout,
		OnSkew: func(worst time.Duration) {
			if !l.OnStandby { // it compares the clocks only now and then
				metrics.Skew.Set(worst.Seconds())
			}
		},
	}
}

// clockEvery is how often a leader compares the clocks, even if nothing is due.
const clockEvery = 3 * time.Second

// followClock compares the clocks while this process leads. If its clock is behind, no object appears to be due, and preflight
// would never compare the clocks.
func (l *Reconciler) followClock(ctx context.Context) error {
	for ; ctx.Err() == nil; wake.Sleep(ctx, l.Clock, clockEvery) {
		l.compareClocks(ctx)
	}
	return nil
}

// compareClocks compares the clocks by the Date of one response, even if that is an error. Without a response, the last
// comparison counts.
func (l *Reconciler) compareClocks(ctx context.Context) {
	l.live.clocks.Begin(l.fresh)
	var answer map[string]any
	err := l.readSoon(ctx, "/version", asJSON, &answer)
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return
	}
	skewErr := l.live.clocks.Err()
	l.mu.Lock()
	defer l.mu.Unlock()
	if (skewErr == nil) != (l.skewed == nil) {
		log.FromContext(ctx).Info("clocks compared", "deletionsWait", skewErr != nil, "reason", skewErr)
	}
	l.skewed = skewErr
}
