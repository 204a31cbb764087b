// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// fakeRules is the rules of an agent, with a fake API server.
type fakeRules struct {
	*testing.T
	*rules
	client.Client
	time      *clocktesting.FakeClock
	away      error         // error of reads
	takes     time.Duration // duration of listing policies
	reads     int
	published int // how often rules were put in force
}

func newFakeRules(t *testing.T) *fakeRules {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.NoError(t, v1alpha1.AddToScheme(scheme))
	compiler := fixture.Compiler(t)
	w := &fakeRules{T: t, time: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))}
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
			w.reads++
			if w.away != nil {
				return w.away
			}
			return c.Get(ctx, key, into, o...)
		},
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, o ...client.ListOption) error {
			w.time.Step(w.takes)
			return c.List(ctx, into, o...)
		},
	}).Build()
	w.rules = &rules{
		live: w.Client, clocks: &skew.Clocks{}, clock: w.time, compiler: compiler,
		labels:  func() (map[string]string, bool) { return nil, true },
		bound:   func(p []*policy.Policy) []*policy.Policy { return p },
		publish: func(*policy.Snapshot, map[string]*engine.Program) { w.published++ },
	}
	return w
}

// policy writes a ClusterRetentionPolicy about images, and NodeImageRules with it.
func (w *fakeRules) policy() *v1alpha1.ClusterRetentionPolicy {
	w.Helper()
	spec := v1alpha1.ClusterRetentionPolicySpec{Mode: v1alpha1.Enforce, Rules: []v1alpha1.Rule{aboutImages("r", "7d", nil)}}
	p := &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "1", Generation: 1}, Spec: spec}
	w.write(p)
	w.write(&v1alpha1.NodeImageRules{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NodeImageRulesName},
		Policies:   []v1alpha1.NodeImagePolicy{{Name: "p", UID: "1", Generation: 1, Hash: "h", Spec: spec}},
		Known:      []v1alpha1.NodeImageKnownPolicy{{Name: "p", UID: "1", Generation: 1}},
	})
	return p
}

func (w *fakeRules) write(o client.Object) {
	w.Helper()
	expect.NoError(w.T, w.Create(w.Context(), o))
}

func (w *fakeRules) revise(p *v1alpha1.ClusterRetentionPolicy, generation int64) {
	w.Helper()
	p.Generation = generation
	expect.NoError(w.T, w.Update(w.Context(), p))
}

// want checks the error of Check: empty means none.
func (w *fakeRules) want(doubt string) {
	w.Helper()
	_, err := w.Check(w.Context(), "")
	if (err == nil) != (doubt == "") || err != nil && !strings.Contains(err.Error(), doubt) {
		w.Errorf("Check gave %v, want %q", err, doubt)
	}
}

func TestConfirmErrorWithoutRules(t *testing.T) {
	w := newFakeRules(t)
	if !errors.Is(w.ConfirmError(), errNoRules) {
		t.Error("rules known before the first read")
	}
	w.Settle(t.Context())
	if w.ConfirmError() != nil || w.published != 1 {
		t.Errorf("%v, rules put in force %d times", w.ConfirmError(), w.published)
	}
}

// TestRulesWithoutPoliciesAboutImages: the controller does not write changes of policies while none is about images.
func TestRulesWithoutPoliciesAboutImages(t *testing.T) {
	w := newFakeRules(t)
	w.write(&v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "jobs", UID: "1", Generation: 2}})
	w.write(&v1alpha1.NodeImageRules{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NodeImageRulesName},
		Known:      []v1alpha1.NodeImageKnownPolicy{{Name: "jobs", UID: "1", Generation: 1}},
	})
	w.want("")
}

// TestRulesThatAnAnswerLackedComeBack: a watch has no event for the rules, because they have not changed.
func TestRulesThatAnAnswerLackedComeBack(t *testing.T) {
	w := newFakeRules(t)
	w.policy()
	w.want("")
	w.time.Step(time.Minute)
	w.away = apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("nodeimagerules").GroupResource(), v1alpha1.NodeImageRulesName)
	w.want("")
	w.away = nil
	reads := w.reads
	for range 6 * 10 { // ten minutes
		w.time.Step(10 * time.Second)
		w.Settle(t.Context())
	}
	if n := len(w.Snapshot().Rules(v1alpha1.ImageKind.GroupKind())); n != 1 || w.reads > reads+2 {
		t.Errorf("%d rules in force after ten minutes, and %d requests", n, w.reads-reads)
	}
}

// TestRulesAfterARestoreOfEtcd: the agent has rules of the time after the backup. Their policy has been edited since, and has the same
// generation again.
func TestRulesAfterARestoreOfEtcd(t *testing.T) {
	w := newFakeRules(t)
	w.policy()
	later := &v1alpha1.NodeImageRules{}
	expect.NoError(t, w.Get(t.Context(), client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, later))
	later.ResourceVersion, later.Policies[0].Spec.Rules[0].TTL = "99", "1h"
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(later)
	expect.NoError(t, err)
	w.Use(t.Context(), &unstructured.Unstructured{Object: object})
	w.want("went back")
	w.time.Step(unconfirmedAge)
	w.want("")
	expect.Equal(t, "version of the rules in force", "1", w.version.ResourceVersion)
	expect.Equal(t, "policies put in force", 2, w.published)
}

func TestRulesAreConfirmed(t *testing.T) {
	w := newFakeRules(t)
	w.policy()
	w.want("")
	reads := w.reads
	w.time.Step(time.Second)
	w.want("")
	if w.reads != reads {
		t.Error("read again within a second")
	}
	w.time.Step(1)
	w.away = errors.New("no answer")
	w.want("no answer")
	if w.ConfirmError() == nil {
		t.Error("no error although the rules cannot be read")
	}
	w.away = nil
	w.time.Step(unconfirmedAge)
	w.want("")
	if w.published != 1 {
		t.Errorf("the same rules were put in force %d times", w.published)
	}
}

// TestRulesCountFromTheFirstAnswer: the rules may have changed while the agent listed the policies.
func TestRulesCountFromTheFirstAnswer(t *testing.T) {
	w := newFakeRules(t)
	w.policy()
	w.takes = 2 * time.Second
	began := w.time.Now()
	since, err := w.Check(t.Context(), "")
	if err != nil || !since.Equal(began) {
		t.Errorf("known since %s, %v; want %s", since, err, began)
	}
}

// TestRulesAreInvalidWithoutTheFeature: an agent treats all rules as invalid, even if it has received valid ones.
func TestRulesAreInvalidWithoutTheFeature(t *testing.T) {
	w := newFakeRules(t)
	w.off = Features
	w.policy()
	w.want("")
	rule := w.Snapshot().Rules(v1alpha1.ImageKind.GroupKind())[0]
	if !rule.Invalid() || !strings.Contains(rule.Problems[0].Message, "NodeImages") {
		t.Errorf("problems %v", rule.Problems)
	}
}

// TestClocksThatDiffer: the agent removes nothing while the Date of the API server and its own clock differ.
func TestClocksThatDiffer(t *testing.T) {
	w := newFakeRules(t)
	w.policy()
	ahead := time.Duration(0)
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, r *http.Request) {
		response.Header().Set("Date", w.time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		response.Header().Set("Content-Type", "application/json")
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
		if path.Base(r.URL.Path) == v1alpha1.NodeImageRulesName {
			expect.NoError(t, w.Get(r.Context(), client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, object))
			expect.NoError(t, json.NewEncoder(response).Encode(object))
			return
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterRetentionPolicyList"))
		expect.NoError(t, w.List(r.Context(), list))
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
		expect.NoError(t, json.NewEncoder(response).Encode(list))
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("ClusterRetentionPolicy"), meta.RESTScopeRoot)
	mapper.AddSpecific(v1alpha1.NodeImageRulesKind, v1alpha1.GroupVersion.WithResource("nodeimagerules"), v1alpha1.GroupVersion.WithResource("nodeimagerules"), meta.RESTScopeRoot)
	c := Config{Rest: &rest.Config{Host: server.URL}, Clock: w.time}
	live, err := c.live(client.Options{Scheme: w.Scheme(), Mapper: mapper}, w.clocks)
	expect.NoError(t, err)
	w.rules.live = live
	for _, step := range []struct {
		ahead time.Duration
		doubt string
	}{{0, ""}, {time.Minute, "clock skew"}, {0, ""}, {-time.Minute, "clock skew"}, {4 * time.Second, ""}} {
		w.time.Step(unconfirmedAge)
		ahead = step.ahead
		w.want(step.doubt)
	}
}

// TestConfirmErrorEnds: a policy changes, and then changes back to the version that nodes have received. The agent confirms the
// rules without an update of NodeImageRules.
func TestConfirmErrorEnds(t *testing.T) {
	w := newFakeRules(t)
	p := w.policy()
	w.revise(p, 2)
	w.want("p has changed")
	w.revise(p, 1)
	reads := w.reads
	w.want("p has changed") // no retry at once: there may be thousands of nodes
	if w.reads != reads {
		t.Error("the agent retried at once")
	}
	w.time.Step(unconfirmedAge)
	w.want("")
}
