package controllers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers"
	"github.com/sunset-k8s/sunset/policy"
)

func TestParseKinds(t *testing.T) {
	got, err := controllers.ParseKinds([]string{"Namespace", "Role.rbac.authorization.k8s.io"})
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.GroupKind{{Kind: "Namespace"}, {Group: "rbac.authorization.k8s.io", Kind: "Role"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, name := range []string{"", ".batch"} {
		if kinds, err := controllers.ParseKinds([]string{name}); err == nil {
			t.Errorf("%q was read as %v", name, kinds)
		}
	}
}

// TestEverythingIsWired: making a manager asks the API server nothing, so that a wrong wire shows without one.
func TestEverythingIsWired(t *testing.T) {
	for name, election := range map[string]controllers.Election{"alone": {}, "with an election": {Enabled: true}} {
		t.Run(name, func(t *testing.T) {
			config := &rest.Config{Host: "http://127.0.0.1:1", QPS: 5}
			_, err := controllers.NewManager(controllers.Config{
				Rest: config, Clock: clock.RealClock{}, Identity: "me", Election: election,
				Protection: policy.DefaultProtection(), MetricsAddress: "0", ProbeAddress: "0",
			})
			if err != nil {
				t.Fatal(err)
			}
			if config.QPS != 5 {
				t.Error("the caller's configuration was changed")
			}
		})
	}
}
