// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// reporting is a host of which only the reporter runs, when the test calls it.
type reporting struct {
	*host
	time *clocktesting.FakeClock
}

func newReporting(t *testing.T) *reporting {
	t.Helper()
	at := clocktesting.NewFakeClock(fixture.Now)
	r := &reporting{host: newHost(t, at), time: at}
	r.read()
	r.add(idOf(1), 10)
	sink := heldSink{called: make(chan struct{}), until: t.Context().Done()}
	go r.node.Open(retention.NewRuleSet(v1alpha1.ImageKind, nil, nil)).Run(t.Context(), sink)
	<-sink.called
	return r
}

// heldSink makes a source wait after its first snapshot, so that further ones are taken only when the test makes it.
type heldSink struct {
	retention.Sink
	called chan struct{}
	until  <-chan struct{}
}

func (s heldSink) Undeletable(*retention.SourceError) {
	close(s.called)
	<-s.until
}

func (heldSink) Replace([]*index.FactRow) {}

// after steps the clock and reports. It expects that number of written reports in total.
func (r *reporting) after(d time.Duration, updates int) {
	r.Helper()
	r.time.Step(d)
	r.reporter.report(r.Context(), nil, nil, nil)
	if r.updates != updates {
		r.Fatalf("%s later: %d reports were written, want %d", d, r.updates, updates)
	}
}

func TestReportIsWrittenWhenItHasChanged(t *testing.T) {
	r := newReporting(t)
	r.after(0, 1)
	if got := r.report(); got.Images != 1 || got.Bytes != 10 || got.Runtime != "containerd v2" || !got.ObservedTime.Equal(&metav1.Time{Time: r.time.Now()}) {
		t.Errorf("%+v", got)
	}
	r.removes("r")
	r.after(59*time.Second, 1) // at most once a minute
	r.after(8*time.Second, 2)  // with a jitter of a tenth
	for range 9 {
		r.after(time.Minute, 2) // nothing has changed
	}
	r.after(3*time.Minute, 3)
	if got := r.report(); got.Removed.Images != 1 || !got.ObservedTime.Equal(&metav1.Time{Time: r.time.Now()}) {
		t.Errorf("%d removed, observed %s", got.Removed.Images, got.ObservedTime)
	}
}

func TestReportThatCannotBeWrittenIsReadAgain(t *testing.T) {
	r := newReporting(t)
	r.after(0, 1)
	other := r.report()
	other.Labels = map[string]string{"team": "a"}
	expect.NoError(t, r.server.Update(t.Context(), other))
	r.removes("r")
	r.after(2*time.Minute, 3) // a conflict with the write of another client
	if got := r.report(); got.Removed.Images != 0 {
		t.Errorf("%+v", got.Removed)
	}
	r.after(14*time.Second, 3) // not at once
	r.after(9*time.Second, 4)
	if got := r.report(); got.Removed.Images != 1 || got.Labels["team"] != "a" {
		t.Errorf("%+v, labels %v", got.Removed, got.Labels)
	}
}

// TestReportIsRecreated: the controller has added up the counts of the deleted report.
func TestReportIsRecreated(t *testing.T) {
	for name, lost := range map[string]bool{"created": false, "created, but the response is lost": true} {
		t.Run(name, func(t *testing.T) {
			r := newReporting(t)
			r.removes("r")
			r.removes("r")
			r.after(0, 1)
			before := r.report()
			r.forget(before)
			r.removes("r")
			r.after(2*time.Minute, 2)
			if lost {
				r.created = func(client.Object) error {
					r.created = nil
					return errors.New("no answer")
				}
				r.after(23*time.Second, 2)
			}
			r.after(23*time.Second, 3)
			if got := r.report(); before.Removed.Images != 2 || got.Removed.Images != 1 || got.UID == before.UID {
				t.Errorf("%s: %+v, after %s: %+v", got.UID, got.Removed, before.UID, before.Removed)
			}
		})
	}
}

func TestAgentGoesOnFromWhatItsReportSays(t *testing.T) {
	r := newReporting(t)
	count := v1alpha1.ImageCount{Images: 5, Bytes: 50}
	expect.NoError(t, r.server.Create(t.Context(), &v1alpha1.NodeImageReport{ObjectMeta: metav1.ObjectMeta{Name: hostName}, Removed: count}))
	r.removes("r")
	r.after(0, 1)
	if got := r.report().Removed; got != (v1alpha1.ImageCount{Images: 6, Bytes: 57}) {
		t.Errorf("%+v", got)
	}
}

func TestReportIsOwnedByTheNodeThatThereIs(t *testing.T) {
	r := newReporting(t)
	r.cluster.set(nil) // the watch has not delivered it
	r.fails = func(o client.Object) error {
		if _, ok := o.(*corev1.Node); ok {
			return errors.New("forbidden")
		}
		return nil
	}
	r.after(0, 0)
	expect.Equal(t, "ready without the node", false, r.reporter.hasBegun())
	r.fails = nil
	owner := func() []metav1.OwnerReference { return r.report().OwnerReferences }
	r.after(time.Minute, 1)
	expect.Equal(t, "ready", true, r.reporter.hasBegun())
	expect.Equal(t, "owner", ownedBy(hostName, "uid-1"), owner())
	r.cluster.set(nil)
	r.after(2*time.Minute, 1)
	r.join("uid-2")
	r.after(2*time.Minute, 2)
	expect.Equal(t, "owner", ownedBy(hostName, "uid-2"), owner())
}

// TestReportConditions: an error sets the condition for it and Ready to False.
func TestReportConditions(t *testing.T) {
	away := errors.New("away")
	tests := map[string]struct {
		happens   func(r *reporting)
		condition string // empty for none
		reason    string
	}{
		"no error":                                              {func(*reporting) {}, "", ""},
		"the runtime does not answer":                           {func(r *reporting) { r.away = away }, v1alpha1.ConditionRuntimeReachable, "RuntimeUnreachable"},
		"the Pods cannot be listed":                             {func(r *reporting) { r.fails = forPods(away) }, v1alpha1.ConditionPodsKnown, "PodsUnknown"},
		"the rules cannot be read":                              {func(r *reporting) { r.rules.confirmErr = away }, v1alpha1.ConditionRulesKnown, "RulesUnknown"},
		"the ages were lost":                                    {loseAges, v1alpha1.ConditionStateKept, "StateNotKept"},
		"the disk usage is unknown":                             {func(r *reporting) { r.seesSpace(away) }, v1alpha1.ConditionFilesystemSeen, "FilesystemUnseen"},
		"the disk usage is known":                               {func(r *reporting) { r.seesSpace(nil) }, "", ""},
		"the disk usage is unknown, and no rule reads it":       {func(r *reporting) { r.blind = away }, "", ""},
		"an error of the runtime comes before one of the rules": {func(r *reporting) { r.away, r.rules.confirmErr = away, away }, v1alpha1.ConditionRuntimeReachable, "RuntimeUnreachable"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newReporting(t)
			test.happens(r)
			r.time.Step(podsAge)
			r.look()
			r.after(0, 1)
			conditions := r.report().Conditions
			expect.Equal(t, "conditions", 6, len(conditions))
			ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
			if test.condition == "" {
				if ready.Status != metav1.ConditionTrue {
					t.Errorf("%+v", ready)
				}
				return
			}
			of := meta.FindStatusCondition(conditions, test.condition)
			if of.Status != metav1.ConditionFalse || of.Reason != test.reason || ready.Status != metav1.ConditionFalse || ready.Reason != test.reason {
				t.Errorf("%+v, ready %+v", of, ready)
			}
		})
	}
}

// TestConditionMessageIsNotTooLong: the API server would reject the whole report.
func TestConditionMessageIsNotTooLong(t *testing.T) {
	r := newReporting(t)
	r.away = errors.New(strings.Repeat("ä", policy.MaxConditionMessage))
	r.time.Step(podsAge)
	r.look()
	r.after(0, 1)
	for _, c := range r.report().Conditions {
		if len(c.Message) > policy.MaxConditionMessage || !utf8.ValidString(c.Message) {
			t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}

// forPods returns a hook that answers requests for Pods with an error.
func forPods(err error) func(client.Object) error {
	return func(o client.Object) error {
		if _, ok := o.(*corev1.Pod); ok {
			return err
		}
		return nil
	}
}

// loseAges makes the agent find a file of ages that it cannot read.
func loseAges(r *reporting) {
	dir := r.TempDir()
	if err := os.WriteFile(filepath.Join(dir, history.Name), nil, 0o600); err != nil {
		r.Fatal(err)
	}
	at := history.Reading{Wall: r.time.Now()}
	kept, err := history.Open(dir, at, history.Options{Machine: hostName, Gap: time.Minute})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = kept.Close() })
	r.reporter.history = kept
}

// seesSpace writes a rule with thresholds and sets the error of reading the disk usage.
func (r *reporting) seesSpace(blind error) {
	r.sendRules(v1alpha1.DryRun, aboutImages("space", "7d", percents(85, 80)))
	r.disk.locate(r.Context())
	r.blind = blind
}

func TestReportIsNotAskedForAgainAtOnce(t *testing.T) {
	r := newReporting(t)
	asked := 0
	r.fails = func(o client.Object) error {
		if _, ok := o.(*v1alpha1.NodeImageReport); !ok {
			return nil
		}
		asked++
		return apierrors.NewServiceUnavailable("busy")
	}
	r.after(0, 0)
	r.after(14*time.Second, 0)
	if asked != 1 {
		t.Errorf("asked %d times within 14 seconds", asked)
	}
	r.after(9*time.Second, 0)
	if asked != 2 {
		t.Errorf("asked %d times after 23 seconds", asked)
	}
}
