// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/upgrade"
)

// left are the objects of an earlier version on a real API server.
type left struct {
	*env
	*upgrade.Recording
	later time.Duration // time since the recording
	due   time.Time     // due time of the marked object
}

// leave installs the definitions of an earlier version, then its objects, and then the current definitions. It shifts all
// times as if the recording had been made so recently that the marked object is due soon.
func (w *env) leave(r *upgrade.Recording) *left {
	w.Helper()
	l := &left{env: w, Recording: r}
	w.definitions(filepath.Join(r.Dir, upgrade.CRDsFile))
	w.Cleanup(func() { w.definitions("../../crds") })
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "upgrade"}}
	expect.NoError(w, client.IgnoreAlreadyExists(w.Create(w.Context(), ns)))
	l.due = time.Now().Add(15 * time.Second) // a busy machine needs some of them to start the controller
	for _, u := range r.Objects {
		for _, at := range policy.ParseMarks(u.GetAnnotations()[v1alpha1.EligibleSinceAnnotation]) {
			l.later = l.due.Sub(at.Add(10 * time.Minute)).Truncate(time.Second)
			l.due = at.Add(10*time.Minute + l.later)
		}
	}
	var objects []*unstructured.Unstructured
	if r.HasAgent() { // before the objects that it owns, which would be garbage without it
		objects = append(objects, l.node())
	}
	objects = append(objects, r.Objects...)
	expect.NoError(w, upgrade.Store(w.Context(), w.plane.URL(cluster.Etcd), objects, l.later))
	w.Cleanup(func() {
		for _, u := range objects {
			_ = w.Delete(context.Background(), u.DeepCopy())
		}
	})
	w.definitions("../../crds")
	return l
}

func (w *env) definitions(path string) {
	w.Helper()
	_, err := cluster.InstallCRDs(w.plane.Config(), envtest.CRDInstallOptions{Paths: []string{path}, ErrorIfPathMissing: true})
	expect.NoError(w, err)
}

// node is the node of the recorded agent.
func (l *left) node() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	u.SetName(upgrade.Node)
	for _, report := range l.Of(v1alpha1.GroupVersion.WithKind("NodeImageReport")) {
		u.SetUID(report.GetOwnerReferences()[0].UID)
	}
	return u
}

// object is a ConfigMap of the recording, or a policy by name.
func (l *left) object(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "upgrade", Name: name}}
}

func policyNamed(name string) *v1alpha1.ClusterRetentionPolicy {
	return &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestUpgradeContinuesFromStoredObjects uses the stored objects of the first and of the last recorded version. Marks count,
// limits hold, open entries are resolved, and totals and image ages continue. No new approval is necessary. Then a newer
// version writes unknown fields, and is rolled back: nothing is deleted.
func TestUpgradeContinuesFromStoredObjects(t *testing.T) {
	all, err := upgrade.All()
	expect.NoError(t, err)
	first, last := all[0], all[0]
	for _, r := range all {
		if r.At.Before(first.At) {
			first = r
		}
		if r.At.After(last.At) {
			last = r
		}
	}
	w := newEnv(t)
	for _, r := range slices.Compact([]*upgrade.Recording{first, last}) {
		t.Run(r.Name, func(t *testing.T) {
			l := w.in(t).leave(r)
			stop := l.sunset()
			l.goesOn()
			if r.HasAgent() {
				l.imagesGoOn()
			}
			stop()
			if r == last {
				l.rollBack()
			}
		})
	}
}

// in is the env in a subtest.
func (w *env) in(t *testing.T) *env {
	part := *w
	part.T = t
	return &part
}

func (l *left) goesOn() {
	l.Helper()
	marked := l.object("retired")
	expect.NoError(l.T, l.Get(l.Context(), client.ObjectKeyFromObject(marked), marked))
	as := marked.Annotations[v1alpha1.EligibleSinceAnnotation]
	for time.Until(l.due) > 2*time.Second { // it may be due before the requests of a busy machine are answered
		l.stays(100*time.Millisecond, marked, l.object("in-use"))
		if now := marked.Annotations[v1alpha1.EligibleSinceAnnotation]; now != as {
			l.Fatalf("marked %s, now %s", as, now)
		}
	}
	l.gone(marked)
	if early := time.Until(l.due); early > 0 {
		l.Errorf("the marked object was deleted %s early", early)
	}
	l.status(policyNamed("limited"), func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Ledger == nil || s.Ledger.LedgerCount != (v1alpha1.LedgerCount{Deleted: 3, Gone: 1}) || s.Ledger.Open != 0 || s.Deleted != 3 {
			return errors.New("want 2 deleted before, 1 since, and 1 gone")
		}
		c := l.condition(s, v1alpha1.ConditionEnforcing)
		return cluster.Want(c.Reason == string(policy.IsLimited), "enforcing: %v", c)
	})
	if n := l.stillThere("open-there", "third-1"); n != 1 {
		l.Errorf("%d of the last two objects exist, want 1 because of the limit", n)
	}
	l.stays(0, l.object("in-use"))
}

// stillThere counts existing ConfigMaps.
func (l *left) stillThere(names ...string) (n int) {
	for _, name := range names {
		if err := l.Get(l.Context(), client.ObjectKeyFromObject(l.object(name)), &corev1.ConfigMap{}); err == nil {
			n++
		}
	}
	return n
}

// imagesGoOn runs the current agent with the state of the earlier one.
func (l *left) imagesGoOn() {
	l.Helper()
	state := filepath.Join(l.TempDir(), upgrade.StateDir)
	expect.NoError(l.T, os.CopyFS(state, os.DirFS(filepath.Join(l.Dir, upgrade.StateDir))))
	s := critest.Start(l.T)
	s.Update(func(s *critest.State) {
		s.Images = append(s.Images, critest.Image(1, "old.test/app:v1"), critest.Image(3, "quick.test/app:v2"))
	})
	stop := l.startAgent(agent.Config{Clock: hasty{}, Node: upgrade.Node, Endpoint: s.Endpoint, StateDir: state})
	l.leaves(s, 1)
	l.tells(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: upgrade.Node}}, func(r *v1alpha1.NodeImageReport) error {
		return cluster.Want(r.Removed.Images == 2, "%d images removed, want one more than before", r.Removed.Images)
	})
	stop()
}

// rollBack makes a newer version write into the ledger, a mark and a policy, and then runs the current version.
func (l *left) rollBack() {
	l.Helper()
	limited := policyNamed("limited")
	l.edit(limited, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Limits.MaxDeletions = 100 })
	expect.NoError(l.T, l.Get(l.Context(), client.ObjectKeyFromObject(limited), limited))
	stored := &v1alpha1.RetentionLedger{ObjectMeta: metav1.ObjectMeta{Name: string(limited.UID)}}
	l.merge(stored, `{"reserved":3}`)
	newer := l.clusterPolicy("newer", fmt.Sprintf(unused, "Enforce", "0s"))
	expect.NoError(l.T, unstructured.SetNestedField(newer.Object, map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "upgrade"}}, "spec", "namespaceSelector"))
	expect.NoError(l.T, unstructured.SetNestedField(newer.Object, "object.metadata.name == 'kept'", "spec", "unless"))
	l.create(newer)
	l.Cleanup(func() { _ = l.Delete(context.Background(), newer) })
	kept, marked := l.object("kept"), l.object("marked")
	kept.Labels = map[string]string{"test": "marks", "unused": "yes"}
	marked.Labels = map[string]string{"app": "marks", "retired": "true"}
	const since = `{"0123456789abcdef":{"since":"2001-01-01T00:00:00Z","by":"a newer version"}}`
	marked.Annotations = map[string]string{v1alpha1.EligibleSinceAnnotation: since}
	l.create(kept)
	l.create(marked)
	began := time.Now()
	ended := l.sunsetUntilLost()
	l.status(limited, func(s v1alpha1.RetentionPolicyStatus) error {
		if c := l.condition(s, v1alpha1.ConditionReady); c.Reason != "LedgerUnavailable" || !strings.Contains(c.Message, "newer version") || !strings.Contains(c.Message, "reserved") {
			return fmt.Errorf("ready: %v", c)
		}
		return nil
	})
	l.status(policyNamed(newer.GetName()), func(s v1alpha1.RetentionPolicyStatus) error {
		c := l.condition(s, v1alpha1.ConditionReady)
		return cluster.Want(c.Reason == "RuleInvalid" && strings.Contains(c.Message, "unless"), "ready: %v", c)
	})
	if at := l.mark(marked); at.Before(began.Truncate(time.Second)) {
		l.Errorf("an unreadable mark counts from %s", at)
	}
	l.stays(time.Second, kept, marked)
	if n := l.stillThere("open-there", "third-1"); n != 1 {
		l.Errorf("%d of the objects in the ledger exist", n)
	}
	l.merge(stored, `{"reserved":null}`)
	select {
	case err := <-ended:
		if !errors.Is(err, ledgers.ErrLate) {
			l.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		l.Error("the controller did not take over a ledger that is readable again")
	}
}

// merge writes known or unknown fields into an object.
func (w *env) merge(object client.Object, patch string) {
	w.Helper()
	expect.NoError(w, w.Patch(w.Context(), object, edit(patch)))
}
