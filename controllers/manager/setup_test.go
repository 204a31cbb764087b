// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestParseKinds(t *testing.T) {
	got, err := manager.ParseKinds([]string{"Namespace", "Role.rbac.authorization.k8s.io"})
	expect.NoError(t, err)
	want := []schema.GroupKind{{Kind: "Namespace"}, {Group: "rbac.authorization.k8s.io", Kind: "Role"}}
	expect.Equal(t, "kinds", want, got)
	for _, name := range []string{"", ".batch"} {
		if kinds, err := manager.ParseKinds([]string{name}); err == nil {
			t.Errorf("%q was parsed as %v", name, kinds)
		}
	}
}

// TestEverythingIsWired: NewManager sends no request to the API server, so a wrong connection of the loops fails without one.
func TestEverythingIsWired(t *testing.T) {
	for name, election := range map[string]manager.Election{"without election": {}, "with election": {Enabled: true}} {
		t.Run(name, func(t *testing.T) {
			config := &rest.Config{Host: "http://127.0.0.1:1", QPS: 5}
			_, err := manager.NewManager(manager.Config{
				Rest: config, Clock: clock.RealClock{}, Identity: "me", Election: election,
				Protection: policy.DefaultProtection(), MetricsAddress: "0", ProbeAddress: "0",
			})
			expect.NoError(t, err)
			if config.QPS != 5 {
				t.Error("the caller's configuration was changed")
			}
		})
	}
}

// TestManagerRequestsHaveUserAgent: every request has the User-Agent of Sunset, for audit logs, also in leader election.
func TestManagerRequestsHaveUserAgent(t *testing.T) {
	const name = "sunset-controller/v1.2.3"
	askedForLease, others := make(chan struct{}, 1), make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent := r.UserAgent(); agent != name {
			offer(others, agent+" requests "+r.URL.Path)
		}
		if strings.Contains(r.URL.Path, "/leases") {
			offer(askedForLease, struct{}{})
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	mgr, err := manager.NewManager(manager.Config{
		Rest: &rest.Config{Host: server.URL, UserAgent: name}, Clock: clock.RealClock{}, Identity: "me", MetricsAddress: "0", ProbeAddress: "0",
		Election: manager.Election{Enabled: true}, Protection: policy.DefaultProtection(),
	})
	expect.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case <-askedForLease:
	case err := <-ended:
		t.Fatalf("the manager ended before it requested the lease: %v", err)
	case <-time.After(time.Minute):
		t.Error("the manager does not request the lease")
	}
	stop()
	expect.NoError(t, <-ended)
	select {
	case other := <-others:
		t.Error(other)
	default:
	}
}

// offer sends a value to a channel that has room, and drops it otherwise.
func offer[T any](to chan T, what T) {
	select {
	case to <- what:
	default:
	}
}

// TestKindThatIsLookedUpHoldsUpNoOther: before each DELETE Sunset looks up the resource of the kind in the mapper. Any tenant
// can write a rule about a kind of an aggregated API that does not respond, or about many kinds that do not exist.
func TestKindThatIsLookedUpHoldsUpNoOther(t *testing.T) {
	asked, end := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			_, _ = w.Write([]byte(`{"kind":"APIVersions","versions":["v1"]}`))
		case "/apis":
			_, _ = w.Write([]byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"silent.example.org","versions":[{"groupVersion":"silent.example.org/v1","version":"v1"}]}]}`))
		case "/api/v1":
			_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap"}]}`))
		case "/apis/silent.example.org/v1":
			offer(asked, struct{}{})
			<-end
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	defer close(end)
	mgr, err := manager.NewManager(manager.Config{
		Rest: &rest.Config{Host: server.URL}, Clock: clock.RealClock{}, Identity: "me",
		Protection: policy.DefaultProtection(), MetricsAddress: "0", ProbeAddress: "0",
	})
	expect.NoError(t, err)
	mapper, known := mgr.GetRESTMapper(), schema.GroupKind{Kind: "ConfigMap"}
	if _, err := mapper.RESTMapping(known, "v1"); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = mapper.RESTMapping(schema.GroupKind{Group: "silent.example.org", Kind: "Thing"}, "v1") }()
	<-asked
	answered := make(chan error, 1)
	go func() {
		_, err := mapper.RESTMapping(known, "v1")
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the mapper blocks a known kind while it looks up a kind of an API that does not respond")
	}
}
