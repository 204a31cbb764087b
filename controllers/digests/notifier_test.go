// SPDX-License-Identifier: Apache-2.0

package digests_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// dataOf returns the data of a CloudEvent.
func dataOf(t *testing.T, r request) map[string]any {
	t.Helper()
	data, ok := r.body["data"].(map[string]any)
	if !ok {
		t.Fatalf("no data in %v", r.body)
	}
	return data
}

// TestSendsOnce: a digest is sent at its time, and the next one counts from there.
func TestSendsOnce(t *testing.T) {
	h := newHarness(t)
	h.add("d")
	h.addPolicy("p", 10)
	h.at(59 * time.Minute)
	h.wantReady("d", "Scheduled", "")
	expect.Equal(t, "requests before its time", 0, len(h.received()))
	expect.Equal(t, "next", "2026-03-01T13:00:00Z", h.status("d").NextScheduleTime.UTC().Format(time.RFC3339))
	h.at(time.Hour)
	h.at(time.Hour + 5*time.Second)
	writes := h.writes
	h.at(90 * time.Minute)
	expect.Equal(t, "writes of an unchanged status", writes, h.writes)
	got := h.received()
	expect.Equal(t, "requests", 1, len(got))
	expect.Equal(t, "path", "/d", got[0].path)
	expect.Equal(t, "content type", "application/cloudevents+json; charset=utf-8", got[0].contentType)
	expect.Equal(t, "id", any("uid-d-2026-03-01T13:00:00Z"), got[0].body["id"])
	expect.Equal(t, "type", any("io.sunset-k8s.digest.v1"), got[0].body["type"])
	expect.Equal(t, "since the first digest", nil, dataOf(t, got[0])["since"])
	status := h.status("d")
	expect.Equal(t, "scheduled", "2026-03-01T13:00:00Z", status.ScheduleTime.UTC().Format(time.RFC3339))
	expect.Equal(t, "counted", []v1alpha1.DigestCount{{PolicyUID: "uid-p", LedgerCount: v1alpha1.LedgerCount{Deleted: 10}}}, status.Counted)

	h.policies[0].Status.Deleted = 17
	h.restart()
	h.at(5 * time.Hour) // two more were missed
	got = h.received()
	expect.Equal(t, "requests after downtime", 2, len(got))
	expect.Equal(t, "id of the latest", any("uid-d-2026-03-01T17:00:00Z"), got[1].body["id"])
	expect.Equal(t, "deleted", any(7.0), dataOf(t, got[1])["deleted"])
}

// TestCrashAfterAcceptance: a digest whose acceptance was not recorded is sent again with the same ID, and counts nothing twice
// afterwards. The same process only repeats the write.
func TestCrashAfterAcceptance(t *testing.T) {
	h := newHarness(t)
	h.add("d")
	h.addPolicy("p", 10)
	h.at(time.Hour)
	h.policies[0].Status.Deleted = 12
	h.refused = errors.New("no")
	h.at(2 * time.Hour)
	h.at(2*time.Hour + time.Minute)
	expect.Equal(t, "requests of the same process", 2, len(h.received()))
	h.policies[0].Status.Deleted = 15
	h.restart()
	h.at(2*time.Hour + 2*time.Minute)
	h.refused = nil
	h.restart()
	h.at(2*time.Hour + 3*time.Minute)
	h.at(2*time.Hour + 4*time.Minute)
	got := h.received()
	expect.Equal(t, "requests", 4, len(got))
	for _, r := range got[1:] {
		expect.Equal(t, "id", any("uid-d-2026-03-01T14:00:00Z"), r.body["id"])
	}
	expect.Equal(t, "deleted", any(5.0), dataOf(t, got[3])["deleted"])
	expect.Equal(t, "counted", int64(15), h.status("d").Counted[0].Deleted)
}

// TestReceiverRefuses: Sunset retries with growing delays, as late as the receiver asks for, and counts from the last digest that
// was accepted.
func TestReceiverRefuses(t *testing.T) {
	h := newHarness(t)
	h.add("d")
	h.addPolicy("p", 10)
	h.at(time.Hour)
	h.policies[0].Status.Deleted = 13
	h.respond = func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "a secret of the receiver", http.StatusInternalServerError)
	}
	start := 2 * time.Hour
	for _, wait := range []time.Duration{0, 9 * time.Second, time.Second, 19 * time.Second, time.Second} {
		start += wait
		h.at(start)
	}
	expect.Equal(t, "requests", 1+3, len(h.received()))
	h.wantReady("d", "NotAccepted", "the webhook responds with status 500, want 2xx; Sunset retries")
	h.respond = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	h.at(start + 40*time.Second)
	h.respond = nil
	h.at(start + 40*time.Second + 119*time.Second)
	expect.Equal(t, "requests before the delay is over", 1+4, len(h.received()))
	h.at(start + 40*time.Second + 120*time.Second)
	got := h.received()
	expect.Equal(t, "requests", 1+5, len(got))
	expect.Equal(t, "deleted", any(3.0), dataOf(t, got[5])["deleted"])
	h.wantReady("d", "Scheduled", "")
}

// TestCorrectedSpec: an edit of the spec ends the delay after a failure.
func TestCorrectedSpec(t *testing.T) {
	h := newHarness(t)
	h.add("d", func(s *v1alpha1.DigestSpec) { s.Template = "{{.Nothing}}" })
	h.at(time.Hour)
	h.wantReady("d", "NotAccepted", "can't evaluate field Nothing")
	spec := h.digests[0].Object["spec"].(map[string]any)
	delete(spec, "template")
	h.digests[0].SetGeneration(2)
	h.at(time.Hour + time.Second)
	expect.Equal(t, "requests", 1, len(h.received()))
}

// TestHangingReceiver: a receiver that does not respond delays no other digest.
func TestHangingReceiver(t *testing.T) {
	h := newHarness(t)
	h.add("hangs")
	h.add("other")
	arrived, release := make(chan string, 2), make(chan struct{})
	h.respond = func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		if r.URL.Path == "/hangs" {
			<-release
		}
	}
	h.clock.SetTime(created.Add(time.Hour))
	h.TickOnly(t.Context())
	paths := []string{<-arrived, <-arrived}
	expect.Equal(t, "both arrive", true, paths[0] != paths[1])
	close(release)
	h.Tick(t.Context())
	h.wantReady("other", "Scheduled", "")
}

func TestOnlyTheLeaderSends(t *testing.T) {
	h := newHarness(t)
	h.add("d")
	h.leads = errors.New("another process leads")
	h.at(time.Hour)
	expect.Equal(t, "requests", 0, len(h.received()))
	expect.Equal(t, "writes", 0, h.writes)
}

func TestStates(t *testing.T) {
	h := newHarness(t)
	metrics.DigestFailing.Reset()
	h.add("suspended", func(s *v1alpha1.DigestSpec) { s.Suspend = true })
	h.add("invalid", func(s *v1alpha1.DigestSpec) { s.Schedule = "@every 1h" })
	h.add("misspelt")
	h.digests[2].Object["spec"].(map[string]any)["namespace"] = []any{"shop"}
	h.at(time.Hour)
	h.at(2 * time.Hour)
	expect.Equal(t, "requests", 0, len(h.received()))
	h.wantReady("suspended", "Suspended", "to resume, set spec.suspend to false")
	h.wantReady("invalid", "Invalid", "spec.schedule: ")
	h.wantReady("misspelt", "Invalid", "spec.namespace: unknown field")
	expect.Equal(t, "next of a suspended digest", true, h.status("suspended").NextScheduleTime == nil)
	expect.Equal(t, "writes", 3, h.writes)
	want := map[string]float64{"suspended": 0, "invalid": 1, "misspelt": 1}
	expect.Equal(t, "sunset_digest_failing", want, failing(t))
	metrics.DigestFailing.Reset() // another process has no metrics
	h.restart()
	h.at(3 * time.Hour)
	expect.Equal(t, "sunset_digest_failing after a restart", want, failing(t))
}

// failing returns sunset_digest_failing by digest.
func failing(t *testing.T) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for name, value := range scrape.Of(t, registry.Registry) {
		if digest, ok := strings.CutPrefix(name, "sunset_digest_failing digest="); ok {
			all[digest] = value
		}
	}
	return all
}

// TestSecrets: values come from Secrets in the namespace of Sunset, and are in no status.
func TestSecrets(t *testing.T) {
	h := newHarness(t)
	from := func(name, key string) *v1alpha1.SecretKey {
		return &v1alpha1.SecretKey{SecretName: v1alpha1.SecretName{Name: name}, Key: key}
	}
	h.add("d", func(s *v1alpha1.DigestSpec) {
		s.Webhook.URL, s.Webhook.URLFrom, s.Webhook.AuthorizationFrom = "", from("hook", "url"), from("token", "value")
	})
	h.at(time.Hour)
	h.wantReady("d", "NotAccepted", `read Secret sunset-system/hook: secrets "hook" not found; with the chart, add its name to digests.secrets`)
	h.secrets["hook/url"] = "https://169.254.169.254/secret-path"
	h.at(time.Hour + time.Minute)
	h.wantReady("d", "NotAccepted", "the URL in Secret hook: loopback, link-local and metadata addresses are not allowed")
	h.secrets["hook/url"] = "https://example.com/secret-path\n"
	h.at(time.Hour + 3*time.Minute)
	h.wantReady("d", "NotAccepted", "read Secret sunset-system/token: ")
	h.secrets["token/other"] = "x"
	h.at(time.Hour + 6*time.Minute)
	h.wantReady("d", "NotAccepted", `key "value" of Secret sunset-system/token has no single line`)
	delete(h.secrets, "token/other")
	h.secrets["token/value"] = "Bearer secret-token"
	h.respond = func(w http.ResponseWriter, _ *http.Request) {
		http.Redirect(w, &http.Request{}, "https://example.com/elsewhere", http.StatusFound)
	}
	h.at(time.Hour + 12*time.Minute)
	h.wantReady("d", "NotAccepted", "the webhook responds with status 302, want 2xx")
	got := h.received()
	expect.Equal(t, "requests", 1, len(got))
	expect.Equal(t, "request", "/secret-path Bearer secret-token", got[0].path+" "+got[0].authorization)
	h.receiver.Close()
	h.at(time.Hour + 30*time.Minute)
	h.wantReady("d", "NotAccepted", "send to the webhook: ")
	for _, c := range h.status("d").Conditions {
		if strings.Contains(c.Message, "secret-") {
			t.Errorf("the message has a secret: %s", c.Message)
		}
	}
}
