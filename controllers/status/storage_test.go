// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const gibibyte = 1 << 30

// prices are those of the tests: a GiB costs 1 EUR.
func prices(t *testing.T) *policy.Prices {
	t.Helper()
	p, err := policy.ParsePrices("EUR", []string{"Job.batch=1", "Image.node.sunset-k8s.io=1"})
	expect.NoError(t, err)
	return p
}

// withBytes makes a rule give sizes.
func withBytes(r *policy.Rule) { r.Spec.Bytes = "object.spec.size" }

// sized returns facts about an eligible object.
func sized(start time.Time, gib int64) policy.Facts {
	return policy.Facts{Selected: true, Eligible: true, Start: start, Size: policy.Size{Bytes: gib * gibibyte}}
}

func storage(gib int64, cost string) v1alpha1.Storage {
	return v1alpha1.Storage{Bytes: gib * gibibyte, EstimatedMonthlyCost: cost}
}

func TestStorage(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a", withBytes))
	held := row("held", now).Subject()
	held.Flags = policy.IsHeld
	view := viewOf(compiledOf(p), nil, row("due", now.Add(-9*time.Hour), sized(now.Add(-2*time.Hour), 1)), row("soon", now.Add(-time.Hour), sized(now.Add(-30*time.Minute), 2)),
		packed(held, sized(now.Add(-2*time.Hour), 4)), row("unknown", now.Add(-2*time.Hour)))
	view.Prices = prices(t)
	first := view.Status(p).Storage
	expect.Equal(t, "storage", &v1alpha1.StorageStatus{
		Estimated: true, Currency: "EUR", DeletedSince: &metav1.Time{Time: now}, Deleted: storage(0, "0.00"), Kept: storage(4, "4.00"),
		Due: v1alpha1.DueStorage{Now: storage(1, "1.00"), Hour: storage(3, "3.00"), Day: storage(3, "3.00"), Week: storage(3, "3.00")},
	}, first)
	view.Before.Storage, view.Now, view.Prices = first, now.Add(time.Minute), nil
	second := view.Status(p).Storage
	expect.Equal(t, "since", now, second.DeletedSince.Time)
	expect.Equal(t, "kept without prices", storage(4, ""), second.Kept)
	expect.Equal(t, "currency without prices", "", second.Currency)

	plain := policyOf(v1alpha1.Enforce, rule("a"))
	if s := viewOf(compiledOf(plain), nil, row("due", now)).Status(plain).Storage; s != nil {
		t.Errorf("a policy without sizes has %+v", s)
	}
}

// TestStorageOfImages: the sizes are those of the nodes, and are not estimated.
func TestStorageOfImages(t *testing.T) {
	p := withImages(nil)
	report := nodeReport("n-1", p, now, 2)
	report.Policies[0].Due.Now.Bytes, report.Policies[0].Due.Week.Bytes = gibibyte, 3*gibibyte
	view := viewOf(compiledOf(p), nil)
	view.Nodes, view.Prices = fleetOf(report), prices(t)
	s := view.Status(p).Storage
	expect.Equal(t, "due now", storage(1, "1.00"), s.Due.Now)
	expect.Equal(t, "due within a week", storage(3, "3.00"), s.Due.Week)
	expect.Equal(t, "estimated", false, s.Estimated)
}

// TestDeletedStorageGoesOn: it counts each deletion once, across failed writes and restarts, also with a ledger.
func TestDeletedStorageGoesOn(t *testing.T) {
	removed := func(w *harness) {
		w.Removed(retention.Removal{Kind: fixture.Jobs, Rule: rule("a", withBytes), Reason: policy.Expired, At: time.Now(), Size: policy.Size{Bytes: gibibyte}})
	}
	restart := func(w *harness) {
		w.stop()
		w.Reporter = quiet(&status.Reporter{Client: w, Live: w, Events: w, State: w, Gates: w, Ledgers: w.ledgers, Prices: prices(w.t)})
		w.Use(compiledOf(policyOf(v1alpha1.Enforce, rule("a", withBytes))))
		w.start()
	}
	for name, test := range map[string]struct {
		happens func(w *harness)
		want    v1alpha1.Storage
	}{
		"nothing":   {func(*harness) {}, storage(10, "10.00")},
		"deletions": {func(w *harness) { removed(w); bubble.Pass(5 * time.Second); removed(w) }, storage(12, "12.00")},
		"a restart": {func(w *harness) { removed(w); bubble.Pass(5 * time.Second); restart(w); removed(w) }, storage(12, "12.00")},
		"a write that fails": {func(w *harness) {
			w.set(func() { w.fail = errors.New("no answer") })
			removed(w)
			bubble.Pass(time.Minute)
			w.set(func() { w.fail = nil })
			removed(w)
		}, storage(12, "12.00")},
		"a ledger": {removed, storage(11, "11.00")},
	} {
		runInBubble(t, name, func(w *harness) {
			w.Prices = prices(w.t)
			p := policyOf(v1alpha1.Enforce, rule("a", withBytes))
			if p.Ledger = name == "a ledger"; p.Ledger {
				w.ledgers[p.UID] = ledgers.State{Ledger: kept()}
			}
			w.create(p, v1alpha1.RetentionPolicyStatus{Storage: &v1alpha1.StorageStatus{Deleted: storage(10, "10.00"), DeletedSince: &metav1.Time{Time: now}}})
		}, func(t *testing.T, w *harness) {
			test.happens(w)
			bubble.Pass(time.Minute)
			s := w.status().Storage
			expect.Equal(t, "deleted", test.want, s.Deleted)
			expect.Equal(t, "since", true, s.DeletedSince.Time.Equal(now))
		})
	}
}

func TestStorageIsMetrics(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.Prices = prices(w.t)
		e := w.create(policyOf(v1alpha1.Enforce, rule("a", withBytes), rule("b")), noStatus)
		w.kinds = []retention.KindState{kindOf(e, time.Now(), row("due", time.Now().Add(-9*time.Hour), sized(time.Now().Add(-2*time.Hour), 1)))}
	}, func(t *testing.T, _ *harness) {
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "bytes", map[string]float64{
			"bytes a due": gibibyte, "bytes a kept": 0, "forecast_bytes a 1h": gibibyte, "forecast_bytes a 24h": gibibyte, "forecast_bytes a 7d": gibibyte,
			"estimated_monthly_cost EUR a due": 1, "estimated_monthly_cost EUR a kept": 0,
		}, only(gathered(t, "sunset_rule_"), "bytes", "forecast_bytes", "estimated_monthly_cost"))
	})
}

// only returns the samples of some metrics.
func only(samples map[string]float64, names ...string) map[string]float64 {
	some := map[string]float64{}
	for key, value := range samples {
		for _, name := range names {
			if strings.HasPrefix(key, name+" ") {
				some[key] = value
			}
		}
	}
	return some
}
