// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// percents returns thresholds.
func percents(high, low int32) *v1alpha1.Images {
	return &v1alpha1.Images{HighThresholdPercent: ptr.To(high), LowThresholdPercent: ptr.To(low)}
}

// atWork runs a host with its reconciler in a synctest bubble. The host counts and reports only when the test makes it.
func atWork(t *testing.T, test func(h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = h.reconciler.Start(ctx) }()
		defer func() {
			cancel()
			<-h.reconciler.Done()
			time.Sleep(2 * time.Second) // until the ages are saved
		}()
		synctest.Wait()
		test(h)
	})
}

// counts waits until the next report may be written, counts and returns the report.
func (h *host) counts() *v1alpha1.NodeImageReport {
	h.Helper()
	time.Sleep(2 * time.Minute)
	h.countOnce(h.Context())
	return h.report()
}

// addImage adds images of the given size, one per minute, and waits until they are old enough to be removed.
func (h *host) addImage(images int, bytes int64) {
	for n := range images {
		h.add(idOf(n), bytes)
		time.Sleep(time.Minute)
	}
	time.Sleep(5 * time.Minute)
}

func TestReportWithoutRules(t *testing.T) {
	atWork(t, func(h *host) {
		h.fails = func(o client.Object) error {
			if o.GetObjectKind().GroupVersionKind().Kind == v1alpha1.NodeImageRulesKind.Kind {
				return errors.New("no answer")
			}
			return nil
		}
		if h.countOnce(h.Context()) || h.rules.Snapshot() != nil {
			h.Error("images were counted by rules that were not read")
		}
		r := h.report()
		known := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionRulesKnown)
		if known.Status != metav1.ConditionFalse || len(r.Policies) > 0 {
			h.Errorf("%+v, policies %+v", known, r.Policies)
		}
	})
}

// TestNumbersGoWithTheirRules: for an invalid or deleted rule the report has only the number of removed images.
func TestNumbersGoWithTheirRules(t *testing.T) {
	atWork(t, func(h *host) {
		h.sendRules(v1alpha1.DryRun, aboutImages("r", "7d", nil))
		h.addImage(3, 10)
		h.removes("r")
		all := h.counts().Policies
		if len(all) != 1 || all[0].Matched != 4 || all[0].Due.Week.Images != 4 || all[0].Removed.Images != 1 {
			h.Fatalf("%+v", all)
		}
		wrong := aboutImages("r", "7d", nil)
		wrong.Eligible = "1 +"
		h.sendRules(v1alpha1.DryRun, wrong)
		all = h.counts().Policies
		if len(all) != 1 || all[0].Generation != 2 || all[0].Matched != 0 || all[0].Due.Week.Images != 0 || all[0].Rules[0].Matched != 0 {
			h.Errorf("counts of an invalid rule: %+v", all)
		}
		if all[0].Removed.Images != 1 {
			h.Errorf("%+v removed", all[0].Removed)
		}
		h.forget(&v1alpha1.NodeImageRules{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NodeImageRulesName}})
		h.read()
		all = h.counts().Policies
		if len(all) != 1 || all[0].Generation != 0 || all[0].Matched != 0 || all[0].Removed.Images != 1 || len(all[0].Rules) != 1 {
			h.Errorf("counts of a deleted rule: %+v", all)
		}
	})
}

// TestImagesAreRecountedOnlyWhenNeeded: counting is most of the work of an idle agent.
func TestImagesAreRecountedOnlyWhenNeeded(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(h *host)
		told      bool
	}{
		"no change":            {func(*host) { time.Sleep(countEvery) }, true},
		"the recount interval": {func(*host) { time.Sleep(recountEvery) }, false},
		"another image":        {func(h *host) { h.add(idOf(7), 10); h.look(); time.Sleep(5 * time.Second) }, false},
		"other rules":          {func(h *host) { h.sendRules(v1alpha1.DryRun, aboutImages("r", "8d", nil)) }, false},
		"a late removal":       {func(h *host) { h.removes("r") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			atWork(t, func(h *host) {
				h.sendRules(v1alpha1.DryRun, aboutImages("r", "7d", nil))
				h.addImage(3, 10)
				h.counts()
				test.meanwhile(h)
				expect.Equal(h.T, "already reported", test.told, h.isReported(h.rules.Snapshot()))
			})
		})
	}
}

func TestImagesGoWhileTheDiskIsFull(t *testing.T) {
	atWork(t, func(h *host) {
		h.sendRules(v1alpha1.Enforce, aboutImages("space", "7d", percents(85, 80)))
		h.addImage(10, 10)
		step := func(percent int32, soon bool, left int) {
			h.Helper()
			h.fills(percent)
			expect.Equal(h.T, fmt.Sprintf("at %d %%: counts again soon", percent), soon, h.countOnce(h.Context()))
			time.Sleep(5 * time.Second)
			if got := h.left(); len(got) != left {
				h.Fatalf("at %d %%: %d images are left, want %d", percent, len(got), left)
			}
		}
		step(84, false, 10)
		step(85, true, 9)
		step(85, true, 8)
		if slices.Contains(h.left(), idOf(0)) {
			h.Error("the image that was unused for longest was not removed")
		}
		step(81, true, 7)
		step(80, true, 7)
		step(84, false, 7)
		if total, _ := h.counters.policies(); total.Images != 3 {
			h.Errorf("%+v removed", total)
		}
	})
}

// TestDryRunSaysWhatWouldGo: a dry run reports what would be removed to free disk space. Once the rule is enforced it uses the
// measured disk usage, not that estimate.
func TestDryRunSaysWhatWouldGo(t *testing.T) {
	atWork(t, func(h *host) {
		rule := aboutImages("space", "7d", percents(85, 80))
		h.sendRules(v1alpha1.DryRun, rule)
		h.addImage(10, 30)
		h.fills(90)
		h.counts()
		due := h.counts().Policies[0].Rules[0].Due.Now
		if want := (v1alpha1.ImageCount{Images: 4, Bytes: 120}); due != want || len(h.left()) != 10 {
			h.Errorf("%+v, want %+v; %d images are left", due, want, len(h.left()))
		}
		written := h.updates
		h.counts()
		if h.updates != written {
			h.Error("an unchanged report was written again")
		}
		h.sendRules(v1alpha1.Enforce, rule)
		time.Sleep(time.Minute)
		expect.Equal(h.T, "images after the estimate", 10, len(h.left()))
		h.countOnce(h.Context())
		time.Sleep(5 * time.Second)
		expect.Equal(h.T, "images after a measurement", 9, len(h.left()))
	})
}

// TestLastReport: the last report has all removals until shutdown, even if the one before it is recent.
func TestLastReport(t *testing.T) {
	atWork(t, func(h *host) {
		h.sendRules(v1alpha1.DryRun, aboutImages("r", "7d", nil))
		h.addImage(3, 10)
		h.counts()
		ctx, cancel := context.WithCancel(h.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = h.Start(ctx)
		}()
		synctest.Wait()
		h.removes("r")
		cancel()
		time.Sleep(lastWait)
		synctest.Wait() // the removals in flight have not ended
		if got := h.report().Removed; got.Images != 1 {
			h.Errorf("%+v", got)
		}
		h.removes("r")
		<-ended
		if got := h.report().Removed; got.Images != 2 {
			h.Errorf("%+v after slow removals", got)
		}
	})
}
