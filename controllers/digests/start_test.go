// SPDX-License-Identifier: Apache-2.0

package digests_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/controllers/digests"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
)

// TestStart: an attempt to send to a receiver that does not respond ends before its deadline, others do not wait for it, and
// nothing is left when the Notifier ends.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &harness{t: t, created: time.Now()}
		n := digests.New(digests.Options{Cache: h, Client: h, Live: h, State: h, Leadership: h, Clock: &bubble.Clock{}, Namespace: "sunset-system"})
		n.ConnectToPipes()
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} { // more than Sunset sends at the same time
			h.add(name, func(s *v1alpha1.DigestSpec) { s.Schedule = "* * * * *" })
		}
		h.add("suspended", func(s *v1alpha1.DigestSpec) { s.Suspend = true })
		stop := bubble.Start(t, n.Start)
		bubble.Pass(10 * time.Second)
		h.wantReady("suspended", digests.Suspended, "")
		bubble.Pass(3 * time.Minute)
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			h.wantReady(name, digests.NotAccepted, "send to the webhook: ")
		}
		stop()
	})
}
