// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// other is a policy about other ConfigMaps, with or without its own ledger.
func (w *env) other(ledger bool) (p *v1alpha1.ClusterRetentionPolicy, labels map[string]string) {
	spec := fmt.Sprintf(previews, "Enforce", "0s")
	if ledger {
		spec = limited(1000, "1h")
	}
	return w.policy("other", strings.Replace(spec, "env: preview", "env: other", 1)), map[string]string{"env": "other"}
}

func TestLedgerThatIsDeletedByHand(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("limited", limited(1000, "1h"))
	w.gone(w.configMap("before", preview))
	kept := w.counted(p, has(1, 0))
	var waits *corev1.ConfigMap
	lose := func(name string) {
		t.Helper()
		expect.NoError(t, w.Client.Delete(t.Context(), kept.DeepCopy()))
		waits = w.configMap(name, preview)
		w.expect(p, v1alpha1.ConditionEnforcing, "LedgerUnavailable", string(p.UID), "status.ledger")
		w.stays(0, waits)
	}
	lose("restored")
	kept.ObjectMeta = metav1.ObjectMeta{Name: kept.Name}
	w.create(kept)
	w.gone(waits)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error { // counting starts again from these values
		if w.condition(s, v1alpha1.ConditionEnforcing).Status != metav1.ConditionTrue || s.Deleted != 2 {
			return errors.New("want 2 deleted, and no error")
		}
		return nil
	})
	kept = w.counted(p, has(2, 0))

	lose("new")
	expect.NoError(t, w.Status().Patch(t.Context(), p.DeepCopy(), edit(`{"status":{"ledger":null}}`)))
	w.gone(waits)
	w.counted(p, has(3, 0))

	expect.NoError(t, w.Client.Delete(t.Context(), p.DeepCopy()))
	w.gone(kept)
}

func TestLedgerThatIsNonsenseKeepsWhatItsPolicyWouldDelete(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("limited", limited(1000, "1h"))
	_, labels := w.other(true)
	w.gone(w.configMap("before", preview))
	kept := w.counted(p, has(1, 0))
	w.merge(kept, `{"open":[{"rule":"previews","apiVersion":"v1","kind":"ConfigMap","objects":["?"]}]}`)
	stays := w.configMap("stays", preview)
	w.expect(p, v1alpha1.ConditionEnforcing, "LedgerUnavailable", `"?"`)
	w.gone(w.configMap("goes", labels))
	w.stays(0, stays)
	expect.NoError(t, w.Client.Delete(t.Context(), p.DeepCopy()))
	w.gone(kept)
}

func TestLedgersThatCannotBeListedAtFirst(t *testing.T) {
	w := newEnv(t)
	g := proxy.New(t, w.plane.Config())
	forbidden := g.Arm(proxy.Fault{
		Match:  proxy.Requests("list", "retentionledgers"),
		Answer: &proxy.Answer{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden},
	})
	p := w.policy("limited", limited(1000, "1h"))
	_, labels := w.other(false)
	stays := w.configMap("stays", preview)
	ended := w.sunsetUntilLost(func(c *manager.Config) { c.Rest = g.Config() })
	w.gone(w.configMap("goes", labels))
	w.expect(p, v1alpha1.ConditionEnforcing, "LedgerNotRead")
	w.stays(0, stays)
	forbidden.Lift()
	var err error
	cluster.Eventually(t, patience, func() error {
		select {
		case err = <-ended:
			return nil
		default:
			return errors.New("the controller has not ended")
		}
	})
	if !errors.Is(err, ledgers.ErrLate) {
		t.Errorf("the controller ended with %v", err)
	}
	w.sunset()
	w.gone(stays)
	w.counted(p, has(1, 0))
}
