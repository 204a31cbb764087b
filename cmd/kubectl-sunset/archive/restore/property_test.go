// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestPlanKeepsItsPromises: for any records and any cluster, no planned object has a UID, comes before an owner that is restored, or
// refers to an owner that neither lives nor is restored. Each name is restored once, and each object is held. Everything else has a
// reason.
func TestPlanKeepsItsPromises(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		records, uids := randomRecords(r), map[audit.Object]types.UID{}
		live := func(name audit.Object) *unstructured.Unstructured {
			if _, known := uids[name]; !known {
				uids[name] = []types.UID{"", types.UID(fmt.Sprint("u", r.IntN(12)))}[r.IntN(5)/4]
			}
			return withUID(uids[name])
		}
		steps := restore.Plan(records, live, restore.Options{Redacted: r.IntN(2) == 0, BuiltIn: isBuiltIn})
		if len(steps) != len(records) {
			t.Fatalf("seed %d: %d steps for %d records", seed, len(steps), len(records))
		}
		check(t, seed, steps, live)
	}
}

func check(t *testing.T, seed uint64, steps []*restore.Step, live restore.Live) {
	created, names := map[types.UID]types.UID{}, map[audit.Object]bool{}
	for _, s := range steps {
		if (s.Object == nil) == (s.Why == "") {
			t.Fatalf("seed %d: %s: object %v, why %q", seed, s.Name, s.Object, s.Why)
		}
		if s.Object == nil {
			continue
		}
		o, err := s.Linked(created)
		if err != nil {
			t.Fatalf("seed %d: %s comes before its owner: %v", seed, s.Name, err)
		}
		if o.GetUID() != "" || o.GetResourceVersion() != "" || names[s.Name] || !v1alpha1.IsHold(o.GetAnnotations()[v1alpha1.HoldAnnotation]) {
			t.Fatalf("seed %d: %s has UID %q, twice %v, annotations %v", seed, s.Name, o.GetUID(), names[s.Name], o.GetAnnotations())
		}
		names[s.Name] = true
		if controller := metav1.GetControllerOf(s.Archived); controller != nil && isRefused(steps, controller.UID) &&
			live(audit.Object{APIVersion: controller.APIVersion, Kind: controller.Kind, Namespace: s.Name.Namespace, Name: controller.Name}).GetUID() != controller.UID {
			t.Fatalf("seed %d: %s is restored without its controller %s", seed, s.Name, controller.UID)
		}
		for _, owner := range o.GetOwnerReferences() {
			ref := audit.Object{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: s.Name.Namespace, Name: owner.Name}
			if live(ref).GetUID() != owner.UID && !strings.HasPrefix(string(owner.UID), "new-") {
				t.Fatalf("seed %d: %s refers to %s, which does not exist", seed, s.Name, owner.UID)
			}
		}
		created[s.Archived.GetUID()] = "new-" + s.Archived.GetUID()
	}
}

// isRefused reports whether the object with a UID is refused.
func isRefused(steps []*restore.Step, uid types.UID) bool {
	return slices.ContainsFunc(steps, func(s *restore.Step) bool { return s.Archived.GetUID() == uid && s.Why != "" })
}

// randomRecords returns records of few names and UIDs, so that they meet, with owners among each other, in any order. No objects own
// each other.
func randomRecords(r *rand.Rand) []restore.Record {
	var records []restore.Record
	kinds := []string{"v1/ConfigMap", "batch/v1/Job", "batch/v1/CronJob", "v1/Pod", "v1/Namespace", "example.com/v1/Database", "example.com/v2/Unserved"}
	for i := range 1 + r.IntN(8) {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		kind := ref(kinds[r.IntN(len(kinds))] + "//")
		o.SetAPIVersion(kind.APIVersion)
		o.SetKind(kind.Kind)
		o.SetName(fmt.Sprint("n", r.IntN(4)))
		if o.GetKind() != "Namespace" {
			o.SetNamespace([]string{"shop", "n1"}[r.IntN(2)])
		}
		o.SetUID(types.UID(fmt.Sprint("u", i)))
		o.SetResourceVersion("1")
		var owners []any
		for range r.IntN(3) {
			owner := ref(kinds[r.IntN(3)] + "//")
			owners = append(owners, map[string]any{
				"apiVersion": owner.APIVersion, "kind": owner.Kind, "name": fmt.Sprint("n", r.IntN(4)), "uid": fmt.Sprint("u", []int{r.IntN(i+1) - 1, 8 + r.IntN(2)}[r.IntN(2)]),
				"controller": len(owners) == 0,
			})
		}
		if owners != nil {
			o.Object["metadata"].(map[string]any)["ownerReferences"] = owners
		}
		record := restore.Record{Archived: o, From: "a", ArchivedAt: time.Unix(int64(r.IntN(3)), 0)}
		if r.IntN(4) == 0 {
			record.Redacted = []string{"data.x"}
		}
		records = append(records, record)
	}
	r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	return records
}
