// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestTracingNeedsAnEndpoint: without an endpoint nothing is exported, and requests use the transport without tracing.
func TestTracingNeedsAnEndpoint(t *testing.T) {
	for endpoint, want := range map[string]bool{"": false, "localhost:4317": true} {
		c := Config{Rest: &rest.Config{}, Clock: clock.RealClock{}, Identity: "me", TracingEndpoint: endpoint}
		expect.NoError(t, c.startTracing(t.Context()))
		defer c.traces.Stop()
		c.complete()
		expect.Equal(t, "tracer of endpoint "+endpoint, want, c.traces.Tracer("test") != nil)
		expect.Equal(t, "transport of endpoint "+endpoint, want, c.Rest.WrapTransport != nil)
	}
}
