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
			t.Errorf("%q was read as %v", name, kinds)
		}
	}
}

// TestEverythingIsWired: making a manager asks the API server nothing, so that a wrong wire shows without one.
func TestEverythingIsWired(t *testing.T) {
	for name, election := range map[string]manager.Election{"alone": {}, "with an election": {Enabled: true}} {
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

// TestEveryRequestSaysWhoAsks: audit logs and priority and fairness know Sunset by its User-Agent, in leader election too.
func TestEveryRequestSaysWhoAsks(t *testing.T) {
	const name = "sunset-controller/v1.2.3"
	askedForLease, others := make(chan struct{}, 1), make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent := r.UserAgent(); agent != name {
			offer(others, agent+" asks for "+r.URL.Path)
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
		t.Fatalf("it ended before it asked for the lease: %v", err)
	case <-time.After(time.Minute):
		t.Error("it does not ask for the lease")
	}
	stop()
	<-ended
	select {
	case other := <-others:
		t.Error(other)
	default:
	}
}

// offer puts something into a channel that has room, and forgets it otherwise.
func offer[T any](to chan T, what T) {
	select {
	case to <- what:
	default:
	}
}

// TestAKindThatIsLookedUpHoldsUpNoOther: before each DELETE Sunset asks the mapper for the resource of the kind. Any tenant may write a
// rule about a kind of an aggregated API that does not answer, or about many kinds that do not exist.
func TestAKindThatIsLookedUpHoldsUpNoOther(t *testing.T) {
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
	case <-time.After(3 * time.Second):
		t.Error("nothing is deleted, as the kinds of an API are looked up that does not answer")
	}
}
