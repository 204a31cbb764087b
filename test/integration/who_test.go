// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/who"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
	"github.com/sunset-k8s/sunset/test/stores"
)

// who runs kubectl sunset who about a ConfigMap, and returns what the sources that begin with a word say.
func (w *env) who(name, source string, args ...string) []who.Deletion {
	w.Helper()
	out := w.plugin(append([]string{"who", "configmap/" + name, "-n", w.namespace, "-o", "json"}, args...)...)
	var report who.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		w.Fatalf("%v in %s", err, out)
	}
	return slices.DeleteFunc(report.Deletions, func(d who.Deletion) bool { return !strings.HasPrefix(d.Source, source) })
}

// said is what the audit record and the archive both say about a deletion.
type said struct {
	By, Result           string
	Object               audit.Object
	Policy, Rule, Reason string
	Due                  time.Time
	Receipt              audit.Receipt
}

func saidBy(t *testing.T, d who.Deletion) said {
	t.Helper()
	r := d.Record
	if r == nil || r.Archive == nil {
		t.Fatalf("%s has no receipt: %+v", d.Source, d)
	}
	return said{d.By, d.Result, d.Object, r.Policy, r.Rule, r.Reason, r.DueTime, *r.Archive}
}

// TestWhoDeletedIt: after an approval, the controller archives and deletes objects. The ledger says so during the DELETE, and
// afterwards the archive and the audit records in the log say the same: which version, by which policy and rule, since when it was
// due, and where its record is. Each audit record has the approved version of the policy, and the approval.
func TestWhoDeletedIt(t *testing.T) {
	const number = 10
	w := newEnv(t)
	a := w.archive("history", stores.Files(t))
	var all []client.Object
	was := map[string]*corev1.ConfigMap{}
	for _, object := range w.backlog(number) {
		all, was[object.GetName()] = append(all, object), object.DeepCopyObject().(*corev1.ConfigMap)
	}
	p := w.policy("previews", fmt.Sprintf(archivedPreviews, "Enforce", "0s", a.Name)+defaultApproval)
	g := w.view(p)
	held := g.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps"), Hold: true})
	c := controller(t, g, "--leader-elect=false", "--audit-records=Log")
	hash := w.pending(p, number)
	w.approve(p, hash)

	var name string // of an object that is being deleted
	w.counted(p, func(l *v1alpha1.RetentionLedger) error {
		if len(l.Open) == 0 || len(l.Open[0].Objects) == 0 {
			return errors.New("no entry is open")
		}
		name, _, _ = strings.Cut(l.Open[0].Objects[0], " ")
		return nil
	})
	entries := w.who(name, "RetentionLedger ")
	if len(entries) != 1 {
		t.Fatalf("%d ledgers say that Sunset deletes %s: %+v", len(entries), name, entries)
	}
	of := was[name]
	version := audit.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name, UID: of.UID, ResourceVersion: of.ResourceVersion}
	expect.Equal(t, "version in the ledger", version, entries[0].Object)
	expect.Equal(t, "note of the ledger", "rule previews of policy "+p.Name, entries[0].Note)

	held.Lift()
	w.gone(all...)
	var archived said
	cluster.Eventually(t, patience, func() error { // the result follows the DELETE
		found := w.who(name, "archive ")
		if len(found) != 1 {
			return fmt.Errorf("%d records in the archive: %+v", len(found), found)
		}
		archived = saidBy(t, found[0])
		return cluster.Want(archived.Result == audit.Deleted, "the result in the archive is %s", archived.Result)
	})
	current := &v1alpha1.ClusterRetentionPolicy{}
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Enforced != nil && slices.Equal(s.Enforced.Approvals, []string{hash}), "want approval %s", hash)
	})
	expect.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(p), current))
	c.stop(t)

	log := filepath.Join(t.TempDir(), "log")
	expect.NoError(t, os.WriteFile(log, c.log.Bytes(), 0o600))
	inLog := slices.DeleteFunc(w.who(name, "line ", "-f", log), func(d who.Deletion) bool { return d.Result != audit.Deleted })
	if len(inLog) != 1 {
		t.Fatalf("%d audit records say that %s is deleted: %+v", len(inLog), name, inLog)
	}
	expect.Equal(t, "audit record and archive", archived, saidBy(t, inLog[0]))
	expect.Equal(t, "audit record and the object", said{
		By: who.Sunset, Result: audit.Deleted, Object: version, Policy: p.Name, Rule: "previews", Reason: "Expired",
		Due: of.CreationTimestamp.UTC(), Receipt: audit.Receipt{Name: a.Name, Segment: archived.Receipt.Segment, Line: archived.Receipt.Line},
	}, archived)

	deleted := map[string]bool{}
	for line := range bytes.Lines(c.log.Bytes()) {
		r, ok := audit.Parse(line)
		if !ok {
			continue
		}
		expect.Equal(t, "approvals in the record of "+r.Object.Name, []string{hash}, r.Approvals)
		expect.Equal(t, "version of the policy", []any{p.UID, current.Generation, current.Status.Enforced.Hash}, []any{r.PolicyUID, r.Generation, r.Hash})
		deleted[r.Object.Name] = deleted[r.Object.Name] || r.Result == audit.Deleted
	}
	expect.Equal(t, "objects with a record", number, len(deleted))
	for name, ok := range deleted {
		expect.Equal(t, name+" is deleted by its records", true, ok)
	}
}
