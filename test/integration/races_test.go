// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// heldDelete runs Sunset behind a proxy and returns the DELETE of a due ConfigMap, which the proxy holds.
func heldDelete(t *testing.T) (*env, *proxy.Proxy, *corev1.ConfigMap, *proxy.Armed) {
	w, g := behindProxy(t)
	held := catchOne(g, func(r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/configmaps/cm")
	})
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	cm := w.configMap("cm", preview)
	select {
	case <-held.Arrived():
	case <-time.After(patience):
		t.Fatal("no DELETE came")
	}
	return w, g, cm, held
}

func TestHoldThatArrivesBeforeTheDeleteWins(t *testing.T) {
	w, g, cm, held := heldDelete(t)
	cm.Annotations = map[string]string{v1alpha1.HoldAnnotation: "true"}
	expect.NoError(t, w.Update(t.Context(), cm))
	held.Release()
	w.stays(2*time.Second, cm)
	expectRefused(t, g)
}

// expectRefused checks that the API server refused the DELETE with 409, because of its preconditions.
func expectRefused(t *testing.T, g *proxy.Proxy) {
	t.Helper()
	if n := conflicts(g); n != 1 {
		t.Errorf("the API server answered 409 to %d DELETEs, want 1", n)
	}
}
