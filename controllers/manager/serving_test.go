// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sunset-k8s/sunset/test/expect"
)

// reviews starts an API server that handles token reviews and access reviews. A token is the name of its user, and user
// prometheus can only read metrics.
func reviews(t *testing.T) *rest.Config {
	t.Helper()
	answer := func(w http.ResponseWriter, review any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Status.Authenticated = review.Spec.Token != "forged"
		review.Status.User.Username = review.Spec.Token
		answer(w, review)
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		of := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "admin" || review.Spec.User == "prometheus" && of.Path == "/metrics" && of.Verb == "get"
		answer(w, review)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func TestMetricsAreForWhomTheAPIServerLets(t *testing.T) {
	c := Config{Rest: reviews(t), MetricsAddress: "127.0.0.1:0", MetricsSecure: true, MetricsCertDir: t.TempDir()}
	address := served(t, &c)
	over := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the certificate is self-signed
	for name, test := range map[string]struct {
		token, path string
		code        int
	}{
		"metrics without a token":           {"", "/metrics", http.StatusUnauthorized},
		"metrics with an invalid token":     {"forged", "/metrics", http.StatusInternalServerError}, // controller-runtime's status
		"metrics without permission":        {"tenant", "/metrics", http.StatusForbidden},
		"metrics with permission":           {"prometheus", "/metrics", http.StatusOK},
		"profiles with access to metrics":   {"prometheus", "/debug/pprof/cmdline", http.StatusForbidden},
		"profiles with access to all paths": {"admin", "/debug/pprof/cmdline", http.StatusOK},
		"profiles without a token":          {"", "/debug/pprof/", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+test.path, nil)
			expect.NoError(t, err)
			if test.token != "" {
				request.Header.Set("Authorization", "Bearer "+test.token)
			}
			response, err := over.Do(request)
			expect.NoError(t, err)
			defer func() { _ = response.Body.Close() }()
			if response.StatusCode != test.code {
				t.Errorf("got %s, want %d", response.Status, test.code)
			}
		})
	}
}

// TestPlainMetricsHaveNoProfiles: without authorization only metrics are served.
func TestPlainMetricsHaveNoProfiles(t *testing.T) {
	c := Config{Rest: reviews(t), MetricsAddress: "127.0.0.1:0"}
	address := served(t, &c)
	for path, code := range map[string]int{"/metrics": http.StatusOK, "/debug/pprof/": http.StatusNotFound} {
		response, err := http.Get("http://" + address + path)
		expect.NoError(t, err)
		_ = response.Body.Close()
		if response.StatusCode != code {
			t.Errorf("%s: %s, want %d", path, response.Status, code)
		}
	}
}

// served serves metrics until the test ends, and returns the address.
func served(t *testing.T, c *Config) string {
	t.Helper()
	server, err := metricsserver.NewServer(c.metricsServer(), c.Rest, http.DefaultClient)
	expect.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := server.(interface{ GetBindAddr() string })
	for deadline := time.Now().Add(time.Minute); at.GetBindAddr() == ""; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not served")
		}
	}
	return at.GetBindAddr()
}
