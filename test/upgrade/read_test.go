// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/upgrade"
)

// TestRecordingOfEachVersionIsRead continues from the recording of each version. With -record it first adds a recording.
func TestRecordingOfEachVersionIsRead(t *testing.T) {
	if *recordAs != "" {
		record(t, *recordAs, *recordFrom)
	}
	all, err := upgrade.All()
	expect.NoError(t, err)
	if len(all) < 1 {
		t.Fatalf("%d recordings", len(all))
	}
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			p := &past{Recording: r, T: t, policies: map[string]*policy.Policy{}}
			p.load()
			t.Run("previews", p.previews)
			t.Run("marks", p.marks)
			t.Run("ledger", p.ledger)
			if r.HasAgent() {
				t.Run("rules of nodes", p.rules)
				t.Run("report", p.report)
				t.Run("ages of images", p.ages)
			}
		})
	}
}

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// past is a recording with its policies as the current code reads them.
type past struct {
	*upgrade.Recording
	*testing.T
	policies map[string]*policy.Policy
}

func (p *past) load() {
	compiler, err := engine.NewCompiler(engine.Options{})
	expect.NoError(p.T, err)
	for _, u := range p.Of(v1alpha1.ClusterRetentionPolicyKind) {
		data, err := u.MarshalJSON()
		expect.NoError(p.T, err)
		document, err := policy.Parse(data)
		expect.NoError(p.T, err)
		read := document.Load(policy.DefaultProtection())
		compiler.Load(read)
		if len(read.Problems) > 0 {
			p.Errorf("policy %s: %v", read.Name, read.Problems)
		}
		p.policies[read.Name] = read
	}
}

// as decodes an object strictly.
func as[T any](t *testing.T, u *unstructured.Unstructured) *T {
	t.Helper()
	into := new(T)
	expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, into, true))
	return into
}

// previews: a dry run that was counted needs no new approval, because its hash is the same.
func (p *past) previews(t *testing.T) {
	for _, u := range p.Of(v1alpha1.ClusterRetentionPolicyKind) {
		written := as[v1alpha1.ClusterRetentionPolicy](t, u)
		counted := written.Status.Previews
		if p.Name == "8703f1f" && slices.ContainsFunc(written.Spec.Rules, func(r v1alpha1.Rule) bool { return r.Outcome != "" || r.Bytes != "" }) {
			continue // the hash of this version has neither: docs/operations/upgrade.md says that such policies are counted again
		}
		if n := len(counted); n == 0 || counted[n-1].Hash != p.policies[written.Name].Hash {
			t.Errorf("policy %s has hash %s, want one of the previews %v", written.Name, p.policies[written.Name].Hash, counted)
		}
	}
}

// marks: the time in a mark still counts, under the name with which it was written.
func (p *past) marks(t *testing.T) {
	rule := p.policies["marks"].Rules[0]
	for _, u := range p.Of(configMapKind) {
		if u.GetName() != "retired" {
			continue
		}
		text := u.GetAnnotations()[v1alpha1.EligibleSinceAnnotation]
		at, ok := policy.ParseMarks(text)[rule.Mark]
		if age := p.At.Sub(at); !ok || age < 0 || age > time.Minute {
			t.Errorf("marked %s; mark %s has the time %v", text, rule.Mark, at)
		}
		return
	}
	t.Error("nothing is marked")
}

// ledger: open and spent entries count against limits, open entries are resolved, and totals continue.
func (p *past) ledger(t *testing.T) {
	l := as[v1alpha1.RetentionLedger](t, p.Of(v1alpha1.RetentionLedgerKind)[0])
	limits := p.policies["limited"].Limits
	budget := &ledger.Budget{Max: limits.Max, Window: limits.Window}
	k := ledger.New("today")
	expect.NoError(t, k.Read(l))
	taken := k.NewUpdate(p.At)
	k.Wrote(taken, taken.Object())
	if charged, free := k.Charged(p.At, budget), k.FreeAt(p.At, budget); charged != 4 || free.IsZero() {
		t.Errorf("%d charged, next deletion at %v", charged, free)
	}
	for _, e := range k.Doubtful() {
		if e.Name == "open-lost" {
			k.Observe(e, ledger.Observation{Absent: true}, time.Time{})
		}
	}
	settled := k.NewUpdate(p.At).Object()
	if want := (v1alpha1.LedgerCount{Deleted: 2, Gone: 1}); settled.Total != want || len(settled.Open) != 1 || len(settled.Rules[0].Outcomes) != 3 {
		t.Errorf("total %v, open %v, rules %v", settled.Total, settled.Open, settled.Rules)
	}
	k.Wrote(k.NewUpdate(p.At), settled)
	if charged := k.Charged(p.At.Add(23*time.Hour), budget); charged != 4 {
		t.Errorf("%d charged within the window", charged)
	}
	if charged := k.Charged(p.At.Add(25*time.Hour), budget); charged != 1 {
		t.Errorf("%d charged after the window, with one open entry", charged)
	}
}

// rules: an agent follows the rules that an earlier controller published, for the policies that exist.
func (p *past) rules(t *testing.T) {
	data, err := p.Of(v1alpha1.NodeImageRulesKind)[0].MarshalJSON()
	expect.NoError(t, err)
	told, err := agentapi.Read(data)
	expect.NoError(t, err)
	if len(told.Policies) != 1 || len(told.Policies[0].Problems) > 0 || told.Policies[0].Hash != p.policies["images"].Hash {
		t.Errorf("received %+v", told.Policies)
	}
	var now []metav1.PartialObjectMetadata
	for _, u := range p.Of(v1alpha1.ClusterRetentionPolicyKind) {
		now = append(now, *as[metav1.PartialObjectMetadata](t, &unstructured.Unstructured{Object: map[string]any{"metadata": u.Object["metadata"]}}))
	}
	if err := told.Compare(now); err != nil {
		t.Error(err)
	}
}

// report: the controller sums up the report of an earlier agent, and the current agent continues its counts.
func (p *past) report(t *testing.T) {
	r := as[v1alpha1.NodeImageReport](t, p.Of(v1alpha1.GroupVersion.WithKind("NodeImageReport"))[0])
	if r.Name != upgrade.Node || r.Removed.Images != 1 || len(r.Policies) != 1 || r.Policies[0].Hash != p.policies["images"].Hash {
		t.Errorf("%+v", r)
	}
}

// ages: the ages in an earlier agent's file grow within the same boot, and do not grow across a reboot.
func (p *past) ages(t *testing.T) {
	var file struct {
		Content struct {
			ObservedUntil time.Time
			BootID        string
			Boot          time.Duration
			Images        []struct{ Known int64 }
		}
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, upgrade.StateDir, history.Name))
	expect.NoError(t, err)
	expect.NoError(t, json.Unmarshal(text, &file))
	known := time.Duration(file.Content.Images[0].Known) * time.Millisecond
	last := history.Reading{Wall: file.Content.ObservedUntil, BootID: file.Content.BootID, Boot: file.Content.Boot}
	same, other := last, history.Reading{Wall: last.Wall.Add(time.Hour), BootID: "another", Boot: time.Minute}
	same.Wall, same.Boot = same.Wall.Add(30*time.Second), same.Boot+30*time.Second
	for name, test := range map[string]struct {
		at   history.Reading
		want time.Duration
	}{"the same boot": {same, known + 30*time.Second}, "another boot": {other, known}} {
		dir := t.TempDir()
		expect.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(p.Dir, upgrade.StateDir))))
		kept, err := history.Open(dir, test.at, history.Options{Machine: upgrade.Node, Gap: time.Minute})
		expect.NoError(t, err)
		kept.Observe(test.at, []history.Seen{{ID: critest.ID(1)}})
		record, ok := kept.Of(critest.ID(1))
		unused := test.at.Wall.Sub(record.UnusedSince()) // may be two seconds too short
		if err := kept.AgesReset(); err != nil || !ok || unused > test.want || unused < test.want-2*time.Second {
			t.Errorf("%s: unused for %s, want %s: %v", name, unused, test.want, err)
		}
		expect.Equal(t, name+": pulled again", 0, kept.PulledAgain())
		expect.NoError(t, kept.Close())
	}
}
