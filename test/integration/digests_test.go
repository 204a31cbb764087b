// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// address is an address of this machine that other machines can use. The test is skipped if there is none.
func address(t *testing.T) net.IP {
	t.Helper()
	all, err := net.InterfaceAddrs()
	expect.NoError(t, err)
	for _, a := range all {
		if of, ok := a.(*net.IPNet); ok && of.IP.To4() != nil && of.IP.IsGlobalUnicast() {
			return of.IP
		}
	}
	t.Skip("this machine has only loopback addresses, to which Sunset sends nothing")
	return nil
}

// serve serves https at an address until the test ends. bundle is the certificate.
func serve(t *testing.T, at net.IP, handler http.HandlerFunc) (url string, bundle []byte) {
	t.Helper()
	bundle, key, err := cert.GenerateSelfSignedCertKey(at.String(), []net.IP{at}, nil)
	expect.NoError(t, err)
	pair, err := tls.X509KeyPair(bundle, key)
	expect.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	expect.NoError(t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp", net.JoinHostPort(at.String(), "0"))
	expect.NoError(t, err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, bundle
}

// receiver serves https at an address, and passes the data of CloudEvents to a channel.
func receiver(t *testing.T, at net.IP) (url string, bundle []byte, events chan map[string]any) {
	t.Helper()
	events = make(chan map[string]any, 10)
	url, bundle = serve(t, at, func(_ http.ResponseWriter, r *http.Request) {
		var event struct{ Data map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			t.Error(err)
		}
		events <- event.Data
	})
	return url, bundle, events
}

func newDigest(name, url string) *v1alpha1.RetentionDigest {
	return &v1alpha1.RetentionDigest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.DigestSpec{Schedule: "* * * * *", Webhook: &v1alpha1.DigestWebhook{URL: url}},
	}
}

// TestDigestCountsAcrossARestart: a digest counts due objects, and objects that were deleted since the digest before it. If the controller ends after a
// receiver accepted a digest and before the status says so, the next controller sends the same digest again.
func TestDigestCountsAcrossARestart(t *testing.T) {
	at := address(t)
	w := newEnv(t)
	url, bundle, events := receiver(t, at)
	p := w.policy("digest", `
mode: Enforce
limits: {maxDeletions: 100, window: 1h}
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttlExpression: "object.metadata.name.startsWith('later') ? duration('5h') : duration('0s')"
`)
	clock, g := &bubble.Clock{}, proxy.New(t, w.plane.Config())
	begin := func() (stop func()) {
		return w.sunset(func(c *manager.Config) { c.Clock, c.Rest = clock, g.Config() })
	}
	deletes := func(name string, want int64) {
		w.configMap(name, preview)
		w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
			return cluster.Want(s.Ledger != nil && s.Ledger.Deleted == want && s.Ledger.Open == 0, "want %d deletions in the ledger", want)
		})
	}
	stop := begin()
	w.configMap("later", preview)
	deletes("now-0", 1)
	d := newDigest(w.namespace, url)
	d.Spec.Webhook.CABundle, d.Spec.Namespaces = bundle, []string{w.namespace}
	w.temporary(d)
	clock.Set(55*time.Second - time.Duration(time.Now().Second())*time.Second) // shortly before a minute begins
	first := next(t, events)
	accepted := func() {
		cluster.Eventually(t, patience, func() error {
			err := w.Get(t.Context(), client.ObjectKeyFromObject(d), d)
			at := d.Status.ScheduleTime
			ready := d.Status.AcceptedTime != nil && meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionReady)
			return cmp.Or(err, cluster.Want(ready && at != nil && at.UTC().Format(time.RFC3339) == first["scheduledTime"], "want scheduleTime %v, status: %+v", first["scheduledTime"], d.Status))
		})
	}
	accepted()
	clock.Set(0) // if clocks differ, nothing is deleted
	deletes("now-1", 2)
	unwritten := g.Arm(proxy.Fault{Match: proxy.Requests("patch", "retentiondigests/status"), Drop: proxy.Before})
	clock.Set(time.Until(d.Status.ScheduleTime.Add(55 * time.Second)))
	second := next(t, events)
	cluster.Eventually(t, patience, func() error { return cluster.Want(unwritten.Fired() > 0, "the status was not written") })
	stop()
	unwritten.Lift()
	begin()
	again := next(t, events)
	for _, test := range []struct {
		what string
		data map[string]any
		want [3]any // due, deleted, policies whose deletions are not known
	}{{"first", first, [3]any{1.0, 0.0, 0.0}}, {"second", second, [3]any{1.0, 1.0, 0.0}}, {"second, sent again", again, [3]any{1.0, 1.0, 0.0}}} {
		expect.Equal(t, test.what, test.want, [3]any{test.data["due"], test.data["deleted"], test.data["uncounted"]})
	}
	expect.Equal(t, "digest", any(w.namespace), again["digest"])
	expect.Equal(t, "scheduled", second["scheduledTime"], again["scheduledTime"])
	first = again
	accepted()
}

// next waits for the next digest.
func next(t *testing.T, events chan map[string]any) map[string]any {
	t.Helper()
	select {
	case data := <-events:
		return data
	case <-time.After(patience):
		t.Fatal("no digest")
		return nil
	}
}

// TestDigestsThatTheAPIServerRefuses: the schema has the checks that protect other programs in the cluster.
func TestDigestsThatTheAPIServerRefuses(t *testing.T) {
	w := newEnv(t)
	const fine = "https://receiver.example.com/x"
	for name, test := range map[string]struct {
		url  string
		edit func(*v1alpha1.DigestSpec)
		want string
	}{
		"https":          {fine, nil, ""},
		"a Service":      {"http://receiver.monitoring.svc:8080/x", nil, ""},
		"http elsewhere": {"http://receiver.example.com/x", nil, "must begin with https://"},
		"no URL":         {"receiver", nil, "must begin with https://"},
		"two URLs": {fine, func(s *v1alpha1.DigestSpec) {
			s.Webhook.URLFrom = &v1alpha1.SecretKey{SecretName: v1alpha1.SecretName{Name: "a"}, Key: "b"}
		}, "either url or urlFrom"},
		"two receivers": {fine, func(s *v1alpha1.DigestSpec) {
			s.Mail = &v1alpha1.DigestMail{Server: "a:25", From: "a@b.c", To: []string{"a@b.c"}}
		}, "either webhook or mail"},
		"no receiver": {fine, func(s *v1alpha1.DigestSpec) { s.Webhook = nil }, "either webhook or mail"},
		"a header in an address": {fine, func(s *v1alpha1.DigestSpec) {
			s.Webhook, s.Mail = nil, &v1alpha1.DigestMail{Server: "a:25", From: "a@b.c\nBcc: d@e.f", To: []string{"a@b.c"}}
		}, "spec.mail.from"},
		"an interval":       {fine, func(s *v1alpha1.DigestSpec) { s.Schedule = "@every 1m" }, "must not be an interval"},
		"an unknown period": {fine, func(s *v1alpha1.DigestSpec) { s.Ahead = "Month" }, "spec.ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDigest("refused", test.url)
			if test.edit != nil {
				test.edit(&d.Spec)
			}
			err := w.Create(t.Context(), d, client.DryRunAll)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
