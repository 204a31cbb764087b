// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sunset-k8s/sunset/controllers/admission"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// hasty is a clock that does not wait, and records how long it would have waited.
type hasty struct {
	clock.RealClock
	waited *atomic.Int64
}

func (h hasty) After(d time.Duration) <-chan time.Time {
	h.waited.Add(int64(d))
	return time.After(time.Millisecond)
}

// TestWebhookIsRetriedEverMoreSeldom: an error may last for weeks, and each retry adds metrics that are never removed:
// controller-runtime has metrics for each name of a controller, and each retry needs a new name.
func TestWebhookIsRetriedEverMoreSeldom(t *testing.T) {
	var tries, waited atomic.Int64
	const trouble, most = 6 * time.Hour, 50
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fail := func(code int, reason string) {
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"%s","message":"no","code":%d}`, reason, code)
		}
		const hooks = "/apis/admissionregistration.k8s.io/v1"
		switch path := r.URL.Path; {
		case path == "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case path == "/api/v1":
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,"kind":"Secret"}]}`)
		case path == "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"admissionregistration.k8s.io","versions":[{"groupVersion":"admissionregistration.k8s.io/v1","version":"v1"}]}]}`)
		case path == hooks:
			fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"admissionregistration.k8s.io/v1","resources":[{"name":"validatingwebhookconfigurations","kind":"ValidatingWebhookConfiguration"}]}`)
		case path == "/api/v1/namespaces/sunset-system/secrets/sunset-webhook":
			tries.Add(1)
			fmt.Fprint(w, `{"kind":"Secret","apiVersion":"v1","metadata":{"namespace":"sunset-system","name":"sunset-webhook","uid":"1","resourceVersion":"1"}}`)
		case r.URL.Query().Get("sendInitialEvents") != "":
			fail(http.StatusUnprocessableEntity, "Invalid") // then the client lists
		case r.URL.Query().Get("watch") != "":
			<-r.Context().Done()
		case path == "/api/v1/namespaces/sunset-system/secrets": // without the Secret: the rotator ends
			fmt.Fprint(w, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		case path == hooks+"/validatingwebhookconfigurations":
			fmt.Fprint(w, `{"kind":"ValidatingWebhookConfigurationList","apiVersion":"admissionregistration.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		default:
			fail(http.StatusForbidden, "Forbidden")
		}
	}))
	defer api.Close()
	scheme := runtime.NewScheme()
	expect.NoError(t, clientgoscheme.AddToScheme(scheme))
	server := &admission.Server{
		Serving: admission.Serving{Address: "127.0.0.1:0", CertDir: t.TempDir(), Secret: "sunset-webhook", Service: "sunset-webhook", Configuration: "sunset"},
		Rest:    &rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, Scheme: scheme, Namespace: "sunset-system", Clock: hasty{waited: &waited},
		Handler: webhook.HandlerFunc(func(context.Context, webhook.Request) webhook.Response { return webhook.Allowed("") }),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Start(ctx) }()
	for began := time.Now(); tries.Load() <= most && time.Duration(waited.Load()) < trouble && time.Since(began) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	<-ended
	if passed := time.Duration(waited.Load()); tries.Load() <= most && passed < trouble {
		t.Errorf("it has waited %s in a minute, want %s", passed, trouble)
	}
	series := 0
	for name := range scrape.Of(t, metrics.Registry) {
		if strings.Contains(name, "=webhook-certificate") {
			series++
		}
	}
	if tries.Load() > most {
		t.Errorf("%d retries in %s, which added %d time series; want at most %d", tries.Load(), time.Duration(waited.Load()), series, most)
	}
}
