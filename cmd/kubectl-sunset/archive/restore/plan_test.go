// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const from = "history/segments/2026/03/01/x.jsonl.zst#0"

// record is a record of an object that was archived at fixture.Now.
func record(t testing.TB, text string) restore.Record {
	return restore.Record{Archived: &unstructured.Unstructured{Object: fixture.Decode(t, text)}, From: from, ArchivedAt: fixture.Now}
}

// live is a cluster that has objects, by APIVERSION/KIND/NAMESPACE/NAME.
func live(objects map[string]types.UID) restore.Live {
	all := map[audit.Object]types.UID{}
	for name, uid := range objects {
		all[ref(name)] = uid
	}
	return func(name audit.Object) *unstructured.Unstructured { return withUID(all[name]) }
}

func withUID(uid types.UID) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetUID(uid)
	return o
}

// isBuiltIn reports whether Kubernetes serves a group of the tests.
func isBuiltIn(group string) bool {
	return group == "" || group == "batch" || group == "apiextensions.k8s.io"
}

// ref parses APIVERSION/KIND/NAMESPACE/NAME.
func ref(text string) audit.Object {
	parts := strings.Split(text, "/")
	n := len(parts) - 3
	return audit.Object{APIVersion: strings.Join(parts[:n], "/"), Kind: parts[n], Namespace: parts[n+1], Name: parts[n+2]}
}

const generated = `uid: u1, resourceVersion: "7", generation: 2, creationTimestamp: "2026-01-01T00:00:00Z", managedFields: [{manager: m}],
  deletionTimestamp: "2026-02-01T00:00:00Z", deletionGracePeriodSeconds: 0`

const origin = `sunset-k8s.io/hold: restored from an archive, sunset-k8s.io/restored-from: "` + from + `", sunset-k8s.io/restored-uid: u1`

func TestPlan(t *testing.T) {
	for behaviour, c := range map[string]struct {
		object  string
		change  func(*restore.Record)
		live    map[string]types.UID
		options restore.Options
		want    string // the object to create, in YAML; empty if it is not restored
		status  string
		why     string
		notes   []string // parts of them, in order
	}{
		"generated fields are dropped, and the object is held and says where it comes from": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, labels: {app: x}, ` + generated + `}, data: {k: v}}`,
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, labels: {app: x}, annotations: {` + origin + `}}, data: {k: v}}`,
		},
		"a finished Workflow comes back without the labels that keep it from running when it is resumed": {
			object: `{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: a, namespace: shop, uid: u1, labels: {app: x,
				workflows.argoproj.io/completed: "true", workflows.argoproj.io/phase: Succeeded}}}`,
			want:  `{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: a, namespace: shop, labels: {app: x}, annotations: {` + origin + `}}, spec: {suspend: true}}`,
			notes: []string{"spec.suspend is true", "labels removed by which Argo Workflows recognizes"},
		},
		"a finished Job comes back suspended, and without what the Job controller generated": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, uid: u1, labels: {controller-uid: u1, app: x}},
				spec: {suspend: false, ttlSecondsAfterFinished: 60, selector: {matchLabels: {batch.kubernetes.io/controller-uid: u1}}, template: {metadata: {creationTimestamp: null,
				labels: {controller-uid: u1, batch.kubernetes.io/controller-uid: u1, job-name: a, batch.kubernetes.io/job-name: a, app: x}}, spec: {restartPolicy: Never}}},
				status: {succeeded: 1}}`,
			want: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, labels: {app: x}, annotations: {` + origin + `}},
				spec: {suspend: true, ttlSecondsAfterFinished: 60, template: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never}}}}`,
			notes: []string{"its status is only in the record", "spec.suspend is true", "selector and labels of the Job controller removed"},
		},
		"a selector that the user wrote stays": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, uid: u1}, spec: {manualSelector: true, selector: {matchLabels: {job: a}}, template: {metadata: {labels: {job: a}}}}}`,
			want: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, annotations: {` + origin + `}},
				spec: {suspend: true, manualSelector: true, selector: {matchLabels: {job: a}}, template: {metadata: {labels: {job: a}}}}}`,
			notes: []string{"spec.suspend is true"},
		},
		"a Job that cannot be suspended is not restored": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, uid: u1}, spec: none}`,
			why:    "cannot keep it from running again",
		},
		"Kueue does not start a restored Job": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, uid: u1, labels: {kueue.x-k8s.io/queue-name: main}}, spec: {suspend: false}}`,
			want:   `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, labels: {}, annotations: {` + origin + `}}, spec: {suspend: true}}`,
			notes:  []string{"spec.suspend is true", "so that Kueue does not start it; the queue was main", "selector"},
		},
		"a Workload of Kueue comes back inactive": {
			object: `{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: a, namespace: shop, uid: u1}, spec: {active: true}, status: {conditions: [{type: Finished}]}}`,
			want:   `{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, spec: {active: false}}`,
			notes:  []string{"its status is only in the record", "spec.active is false"},
		},
		"a Pod is for viewing only": {
			object: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop, uid: u1}}`,
			why:    "a Pod would run again; to view it: kubectl sunset archive get",
		},
		"a custom resource that completed is not restored, since its controller may run it again": {
			object: `{apiVersion: batch.volcano.sh/v1, kind: Job, metadata: {name: a, namespace: shop, uid: u1}, status: {state: {phase: Completed}}}`,
			why:    "it ran to completion (status.state.phase Completed), and its controller may run it again; to restore it nevertheless, use --finished",
		},
		"so is one with the phase of a failure": {
			object: `{apiVersion: velero.io/v1, kind: Restore, metadata: {name: a, namespace: shop, uid: u1}, status: {phase: PartiallyFailed}}`,
			why:    "status.phase PartiallyFailed",
		},
		"so is one with a time of completion": {
			object: `{apiVersion: example.com/v1, kind: Database, metadata: {name: a, namespace: shop, uid: u1}, status: {completionTime: "2026-01-01T00:00:00Z"}}`,
			why:    "status.completionTime",
		},
		"so is one with a condition that says so": {
			object: `{apiVersion: example.com/v1, kind: Database, metadata: {name: a, namespace: shop, uid: u1}, status: {conditions: [{type: Ready, status: "True"}, {type: Succeeded, status: "False"}]}}`,
			why:    "condition Succeeded",
		},
		"a custom resource that completed is restored if asked": {
			object:  `{apiVersion: example.com/v1, kind: Database, metadata: {name: a, namespace: shop, uid: u1}, status: {phase: Completed}}`,
			options: restore.Options{Finished: true},
			want:    `{apiVersion: example.com/v1, kind: Database, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, status: {phase: Completed}}`,
			status:  `{phase: Completed}`,
		},
		"a custom resource that has not completed is restored": {
			object: `{apiVersion: example.com/v1, kind: Old, metadata: {name: a, namespace: shop, uid: u1}, status: {completionTime: null, phase: Running, conditions: [{type: Complete, status: "False"}]}}`,
			want: `{apiVersion: example.com/v1, kind: Old, metadata: {name: a, namespace: shop, annotations: {` + origin + `}},
				status: {completionTime: null, phase: Running, conditions: [{type: Complete, status: "False"}]}}`,
			status: `{completionTime: null, phase: Running, conditions: [{type: Complete, status: "False"}]}`,
		},
		"a CustomRun is for viewing only": {
			object: `{apiVersion: tekton.dev/v1, kind: CustomRun, metadata: {name: a, namespace: shop, uid: u1}}`,
			why:    "a CustomRun would run again",
		},
		"the status of a custom resource is written after it was created": {
			object: `{apiVersion: example.com/v1, kind: Database, metadata: {name: a, namespace: shop, uid: u1}, spec: {size: 1}, status: {phase: Ready}}`,
			want:   `{apiVersion: example.com/v1, kind: Database, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, spec: {size: 1}, status: {phase: Ready}}`,
			status: `{phase: Ready}`,
		},
		"finalizers are restored if the user wants them": {
			object:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1, finalizers: [example.com/a]}}`,
			options: restore.Options{Finalizers: true},
			want:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, finalizers: [example.com/a], annotations: {` + origin + `}}}`,
		},
		"finalizers are dropped": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1, finalizers: [example.com/a]}}`,
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}}`,
			notes:  []string{"finalizers removed: example.com/a"},
		},
		"a reference to an owner that lives stays": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: o, uid: u9}]}}`,
			live:   map[string]types.UID{"batch/v1/CronJob/shop/o": "u9"},
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: o, uid: u9}], annotations: {` + origin + `}}}`,
		},
		"a reference to an owner with another UID is dropped": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: o, uid: u9}]}}`,
			live:   map[string]types.UID{"batch/v1/CronJob/shop/o": "u8"},
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}}`,
			notes:  []string{"owner reference removed: CronJob o with UID u9 does not exist"},
		},
		"a reference to an owner that does not exist is dropped": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: o, uid: u9}]}}`,
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}}`,
			notes:  []string{"owner reference removed: CronJob o with UID u9 does not exist"},
		},
		"a claim of a volume that is gone gets a new volume, and says so": {
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, uid: u1, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: pv-1}, status: {phase: Bound}}`,
			want:   `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, spec: {}}`,
			notes:  []string{"gets a new, empty volume; the archive does not have the data"},
		},
		"a claim whose data a VolumeSnapshot has is not restored empty": {
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, uid: u1}, spec: {volumeName: pv-1}}`,
			change: func(r *restore.Record) { r.Snapshot = "sunset-1" },
			live:   map[string]types.UID{"snapshot.storage.k8s.io/v1/VolumeSnapshot/shop/sunset-1": "u6"},
			why:    "to restore it with the data: kubectl sunset restore pvc/a -n shop --from sunset-1",
		},
		"a claim whose VolumeSnapshot is gone says so": {
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, uid: u1}, spec: {volumeName: pv-1}}`,
			change: func(r *restore.Record) { r.Snapshot = "sunset-1" },
			want:   `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, spec: {}}`,
			notes:  []string{"VolumeSnapshot sunset-1 with its data does not exist", "gets a new, empty volume; the archive does not have the data"},
		},
		"a bound volume can be bound by a claim of the same name": {
			object: `{apiVersion: v1, kind: PersistentVolume, metadata: {name: a, uid: u1, annotations: {pv.kubernetes.io/bound-by-controller: "yes"}}, spec: {claimRef: {namespace: shop, name: c, uid: u7, resourceVersion: "3"}}}`,
			want:   `{apiVersion: v1, kind: PersistentVolume, metadata: {name: a, annotations: {` + origin + `}}, spec: {claimRef: {namespace: shop, name: c}}}`,
			notes:  []string{"a claim shop/c can bind it"},
		},
		"a Service gets a new address": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop, uid: u1}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: []}}`,
			want:   `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, spec: {ports: []}}`,
			notes:  []string{"new cluster IP"},
		},
		"a Service without an address has none": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop, uid: u1}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			want:   `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, spec: {clusterIP: None, clusterIPs: [None]}}`,
		},
		"a Secret with the token of a ServiceAccount gets a new token": {
			object: `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: a, namespace: shop, uid: u1, annotations: {kubernetes.io/service-account.name: sa,
				kubernetes.io/service-account.uid: u8}}, data: {token: dA==, ca.crt: Yw==, namespace: bg==, own: bw==}}`,
			want: `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: a, namespace: shop, annotations: {kubernetes.io/service-account.name: sa, ` + origin + `}},
				data: {own: bw==}}`,
			notes: []string{"it gets a new token of the ServiceAccount"},
		},
		"other Secrets keep their data": {
			object: `{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: a, namespace: shop, uid: u1}, data: {token: dA==}}`,
			want:   `{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, data: {token: dA==}}`,
		},
		"a CertificateSigningRequest is not restored": {
			object: `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: a, uid: u1}, spec: {username: alice}}`,
			why:    "the API server would make you its requester",
		},
		"a VolumeSnapshot is not restored with the present data of its claim": {
			object: `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: a, namespace: shop, uid: u1}, spec: {source: {persistentVolumeClaimName: data}}, status: {readyToUse: true}}`,
			why:    "the archive does not have its data, and a new snapshot would have the present data of the claim",
		},
		"nor is a VolumeSnapshotContent": {
			object: `{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotContent, metadata: {name: a, uid: u1}, spec: {source: {volumeHandle: v}}}`,
			why:    "the archive does not have its data, which is gone",
		},
		"the mark of Sunset is dropped": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1, annotations: {sunset-k8s.io/eligible-since: x, team: a}}}`,
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {team: a, ` + origin + `}}}`,
		},
		"a redacted copy of the object in an annotation is dropped": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1, annotations: {kubectl.kubernetes.io/last-applied-configuration: REDACTED}}}`,
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}}`,
		},
		"values that the archive lacks keep an object from being restored": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1}, data: {k: REDACTED}}`,
			change: func(r *restore.Record) { r.Redacted = []string{"data.k"} },
			why:    "values are not in the record: data.k; to restore it without them, use --redacted",
		},
		"values that the archive lacks are named if the object is restored": {
			object:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1}, data: {k: REDACTED}}`,
			change:  func(r *restore.Record) { r.Redacted = []string{"data.k"} },
			options: restore.Options{Redacted: true},
			want:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}, data: {k: REDACTED}}`,
			notes:   []string{"are REDACTED or missing: data.k"},
		},
		"dependents that stay in the record are named": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1}}`,
			change: func(r *restore.Record) { r.Left = 2 },
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {` + origin + `}}}`,
			notes:  []string{"dependents only in the record: 2; to view them"},
		},
	} {
		t.Run(behaviour, func(t *testing.T) {
			r := record(t, c.object)
			if c.change != nil {
				c.change(&r)
			}
			before := r.Archived.DeepCopy()
			c.options.BuiltIn = isBuiltIn
			steps := restore.Plan([]restore.Record{r}, live(c.live), c.options)
			s := steps[0]
			if len(steps) != 1 || (c.why == "") != (s.Why == "") || !strings.Contains(s.Why, c.why) {
				t.Fatalf("%d steps, why %q, want %q", len(steps), s.Why, c.why)
			}
			var object map[string]any
			if s.Object != nil {
				object = s.Object.Object
			}
			expect.Equal(t, "object", decoded(t, c.want), object)
			expect.Equal(t, "status", decoded(t, c.status), s.Status)
			expect.Equal(t, "the record", before, r.Archived)
			if len(s.Notes) != len(c.notes) {
				t.Fatalf("notes: %q, want %q", s.Notes, c.notes)
			}
			for i, want := range c.notes {
				if !strings.Contains(s.Notes[i], want) {
					t.Errorf("note %q, want %q", s.Notes[i], want)
				}
			}
		})
	}
}

// TestPlanOfAVolume: a claim keeps the name of its volume only if that exists and no other claim has it.
func TestPlanOfAVolume(t *testing.T) {
	const empty = "the claim gets a new, empty volume; the archive does not have the data"
	for claimRef, test := range map[string]struct {
		keeps bool
		note  string
	}{
		`{}`:                                  {true, "PersistentVolume pv-1 exists, and the claim can bind it"},
		`{namespace: shop, name: a}`:          {true, "PersistentVolume pv-1 exists, and the claim can bind it"},
		`{namespace: shop, name: a, uid: u1}`: {true, "remove its field spec.claimRef.uid"},
		`{namespace: shop, name: a, uid: u9}`: {false, "PersistentVolume pv-1 has claim shop/a with UID u9: " + empty},
		`{namespace: shop, name: b, uid: u1}`: {false, "PersistentVolume pv-1 has claim shop/b with UID u1: " + empty},
		`{namespace: dev, name: a, uid: u1}`:  {false, "PersistentVolume pv-1 has claim dev/a with UID u1: " + empty},
	} {
		r := record(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, uid: u1}, spec: {volumeName: pv-1}}`)
		volume := withUID("u5")
		volume.Object["spec"] = decoded(t, `{claimRef: `+claimRef+`}`)
		s := restore.Plan([]restore.Record{r}, func(audit.Object) *unstructured.Unstructured { return volume }, restore.Options{BuiltIn: isBuiltIn})[0]
		_, keeps, _ := unstructured.NestedString(s.Object.Object, "spec", "volumeName")
		expect.Equal(t, claimRef+" keeps the name", test.keeps, keeps)
		if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, test.note) || len(s.Notes) != 1 {
			t.Errorf("%s: %q, want %q", claimRef, notes, test.note)
		}
	}
}

// TestPlanOfAClaimWithItsVolume: the volume does not exist yet.
func TestPlanOfAClaimWithItsVolume(t *testing.T) {
	claim := record(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, uid: u1}, spec: {volumeName: pv-1}}`)
	for claimRef, want := range map[string]string{
		`{namespace: shop, name: a, uid: u1}`: "PersistentVolume pv-1 is restored too, and the claim can bind it",
		`{namespace: shop, name: b, uid: u2}`: "PersistentVolume pv-1 does not exist",
	} {
		volume := record(t, `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-1, uid: u5}, spec: {claimRef: `+claimRef+`}}`)
		steps := restore.Plan([]restore.Record{claim, volume}, live(nil), restore.Options{BuiltIn: isBuiltIn})
		if steps[0].Name.Kind != "PersistentVolume" || !strings.HasPrefix(strings.Join(steps[1].Notes, "\n"), want) {
			t.Errorf("%s first, then a claim with notes %q, want %q", steps[0].Name.Kind, steps[1].Notes, want)
		}
		name, _, _ := unstructured.NestedString(steps[1].Object.Object, "spec", "volumeName")
		expect.Equal(t, "keeps the name", strings.Contains(want, "restored"), name == "pv-1")
		_, err := steps[1].Linked(nil)
		expect.Equal(t, "is refused if the volume was not created", strings.Contains(want, "restored"), err != nil)
		_, err = steps[1].Linked(map[types.UID]types.UID{"u5": "u6"})
		expect.NoError(t, err)
	}
}

// TestPlanFinished: a custom resource is not restored if its status or its record says that it ran to completion.
// TestPlanUnread: an older record does not take the place of a newer one that cannot be read.
func TestPlanUnread(t *testing.T) {
	r := record(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1}}`)
	for newest, why := range map[time.Duration]string{-time.Second: "", time.Second: "a newer record of an object of this name cannot be read"} {
		s := restore.Plan([]restore.Record{r}, live(nil), restore.Options{BuiltIn: isBuiltIn, Unread: map[string]time.Time{"ConfigMap/shop/a": r.ArchivedAt.Add(newest)}})[0]
		expect.Equal(t, "why", why, s.Why)
	}
}

func TestPlanFinished(t *testing.T) {
	for status, why := range map[string]string{
		`{phase: Successful}`:                     "status.phase Successful", // AnalysisRun of Argo Rollouts
		`{phase: Inconclusive}`:                   "status.phase Inconclusive",
		`{stage: finished}`:                       "status.stage finished", // TestRun of k6
		`{stage: started}`:                        "",
		`{jobStatus: {state: CANCELED}}`:          "status.jobStatus.state CANCELED", // FlinkDeployment
		`{jobStatus: {state: RUNNING}}`:           "",
		`{state: TimedOut}`:                       "status.state TimedOut",
		`{state: STATE_SUCCESS}`:                  "status.state STATE_SUCCESS", // Workflow of Tinkerbell
		`{state: STATE_RUNNING}`:                  "",
		`{completedAt: "2026-01-01T00:00:00Z"}`:   "status.completedAt",
		`{finishTime: "2026-01-01T00:00:00Z"}`:    "status.finishTime",
		`{endedAt: "2026-01-01T00:00:00Z"}`:       "status.endedAt",
		`{complete: true}`:                        "status.complete",
		`{complete: false}`:                       "",
		`{completions: 3}`:                        "",
		`{endTime: 1764500000}`:                   "status.endTime",
		`{restoreCompletionTs: "2026-01-01"}`:     "status.restoreCompletionTs",
		`{phase: Processed}`:                      "status.phase Processed",
		`{phase: Other}, outcome: Failed`:         "outcome Failed",
		`{phase: Other}, outcome: team/Succeeded`: "",
	} {
		r := record(t, `{apiVersion: example.com/v1, kind: Run, metadata: {name: a, namespace: shop, uid: u1}, status: `+status+`}`)
		r.Outcome, _ = r.Archived.Object["outcome"].(string)
		s := restore.Plan([]restore.Record{r}, live(nil), restore.Options{BuiltIn: isBuiltIn})[0]
		if (why == "") != (s.Why == "") || !strings.Contains(s.Why, why) {
			t.Errorf("%s: %q, want %q", status, s.Why, why)
		}
	}
}

func decoded(t testing.TB, text string) map[string]any {
	if text == "" {
		return nil
	}
	return fixture.Decode(t, text)
}

// TestPlanTogether: what is restored together is restored in the order of dependencies, with references among itself.
func TestPlanTogether(t *testing.T) {
	owned := `ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u-job}]`
	steps := restore.Plan([]restore.Record{
		record(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: new, uid: u-c, `+owned+`}}`),
		record(t, `{apiVersion: other.example/v1, kind: Thing, metadata: {name: t, namespace: new, uid: u-t}}`),
		record(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: new, uid: u-job}}`),
		record(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.other.example, uid: u-d}, spec: {group: other.example, scope: Namespaced,
			names: {kind: Thing}, versions: [{name: v1, subresources: {status: {}}}]}}`),
		record(t, `{apiVersion: v1, kind: Namespace, metadata: {name: new, uid: u-ns}}`),
		record(t, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: new, uid: u-s}}`),
		record(t, `{apiVersion: another.example/v1, kind: Global, metadata: {name: g, uid: u-g}}`),
	}, live(nil), restore.Options{BuiltIn: isBuiltIn})
	var order []string
	for _, s := range steps {
		order = append(order, s.Name.Kind+"/"+s.Name.Name+" "+s.Why)
	}
	expect.Equal(t, "order", []string{"Namespace/new ", "CustomResourceDefinition/things.other.example ", "ServiceAccount/s ", "Global/g ", "Job/j ", "ConfigMap/c ", "Thing/t "}, order)

	c := steps[5]
	if _, err := c.Linked(nil); err == nil || !strings.Contains(err.Error(), "owner Job j was not created") {
		t.Errorf("an owner that was not created: %v", err)
	}
	linked, err := c.Linked(map[types.UID]types.UID{"u-job": "u-new"})
	expect.NoError(t, err)
	expect.Equal(t, "UID of the owner", "u-new", linked.GetOwnerReferences()[0].UID)
}

// TestPlanWithoutManager: what an owner managed is not restored if the owner is not, or comes back stopped: it could run on its own, and
// nothing would delete it. This also applies if the owner is only in the same record.
func TestPlanWithoutManager(t *testing.T) {
	const (
		finished = `{apiVersion: example.com/v1, kind: Run, metadata: {name: o, namespace: shop, uid: u-o}, status: {phase: Succeeded}}`
		serving  = `{apiVersion: example.com/v1, kind: Run, metadata: {name: o, namespace: shop, uid: u-o}}`
		rayJob   = `{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: o, namespace: shop, uid: u-o}}`
		pod      = `{apiVersion: v1, kind: Pod, metadata: {name: o, namespace: shop, uid: u-o}}`
		refused  = "its owner Run o is not restored"
		stopped  = "its controller RayJob o must not run again, and no field keeps this Deployment from running"
	)
	owned := func(apiVersion, kind, name, owner, controller string) string {
		return fmt.Sprintf(`{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: shop, uid: u-%[3]s, ownerReferences: [%s]}}`, apiVersion, kind, name,
			fmt.Sprintf(`{apiVersion: x/v1, kind: %s, name: %s, uid: u-%[2]s%[3]s}`, strings.Split(owner, "/")[0], strings.Split(owner, "/")[1], controller))
	}
	const isController = ", controller: true"
	workers := owned("apps/v1", "Deployment", "d", "Run/o", isController)
	for behaviour, c := range map[string]struct {
		owner, dependent string
		options          restore.Options
		live             map[string]types.UID
		why              string // of the dependent
	}{
		"a finished owner": {finished, workers, restore.Options{}, nil, refused},
		"a finished owner that is not its controller":  {finished, owned("apps/v1", "Deployment", "d", "Run/o", ""), restore.Options{}, nil, refused},
		"a finished owner that is restored":            {finished, workers, restore.Options{Finished: true}, nil, ""},
		"a finished owner that exists":                 {finished, workers, restore.Options{}, map[string]types.UID{"x/v1/Run/shop/o": "u-o"}, ""},
		"an owner that serves":                         {serving, workers, restore.Options{}, nil, ""},
		"a Pod":                                        {pod, owned("v1", "PersistentVolumeClaim", "d", "Pod/o", isController), restore.Options{}, nil, "its owner Pod o is not restored"},
		"a suspended owner":                            {rayJob, owned("apps/v1", "Deployment", "d", "RayJob/o", isController), restore.Options{}, nil, stopped},
		"a suspended owner of a suspended object":      {rayJob, owned("batch/v1", "Job", "d", "RayJob/o", isController), restore.Options{}, nil, ""},
		"a suspended owner that is not its controller": {rayJob, owned("v1", "ConfigMap", "d", "RayJob/o", ""), restore.Options{}, nil, ""},
	} {
		t.Run(behaviour, func(t *testing.T) {
			c.options.BuiltIn = isBuiltIn
			owner, dependent := record(t, c.owner), record(t, c.dependent)
			alone := dependent
			alone.Others = []restore.Record{owner}
			for _, records := range [][]restore.Record{{owner, dependent}, {dependent, owner}, {alone}} {
				for _, s := range restore.Plan(records, live(c.live), c.options) {
					if s.Name.Name == "d" && ((c.why == "") != (s.Why == "") || !strings.Contains(s.Why, c.why)) {
						t.Errorf("%d records: %q, want %q", len(records), s.Why, c.why)
					}
				}
			}
		})
	}
	last := owned("v1", "Service", "last", "Deployment/d", isController)
	for _, s := range restore.Plan([]restore.Record{record(t, last), record(t, workers), record(t, finished)}, live(nil), restore.Options{BuiltIn: isBuiltIn}) {
		if s.Name.Name == "last" && !strings.Contains(s.Why, "its owner Deployment d is not restored") {
			t.Errorf("a dependent of a dependent: %q", s.Why)
		}
	}
}

// TestSetRestored: the same record restored an object before, also from the archive under another name.
func TestSetRestored(t *testing.T) {
	const segment = "segments/2026/03/01/x.jsonl.zst#0"
	for origin, want := range map[string]bool{
		"history/" + segment + " u1": true, "s3://bucket/segments/" + segment + " u1": true, "history/" + segment + "1 u1": false, "history/" + segment + " u2": false,
		"history u1": false, "VolumeSnapshot/a u1": false, " ": false,
	} {
		r := record(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1}}`)
		s := restore.Plan([]restore.Record{r}, live(nil), restore.Options{BuiltIn: isBuiltIn})[0]
		before, uid, _ := strings.Cut(origin, " ")
		object := withUID("u3")
		object.SetAnnotations(map[string]string{"sunset-k8s.io/restored-from": before, "sunset-k8s.io/restored-uid": uid})
		expect.Equal(t, origin, want, s.SetRestored(object))
	}
}

// TestPlanNewest: of several records of one name, the newest is restored. Objects that the older one owned stay in the archive, without an error.
func TestPlanNewest(t *testing.T) {
	owned := record(t, `{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: shop, uid: u3, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: u1}]}}`)
	older := record(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u1}}`)
	newer := record(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u2}}`)
	newer.ArchivedAt = newer.ArchivedAt.Add(time.Hour)
	for _, records := range [][]restore.Record{{older, newer, owned}, {owned, newer, older}} {
		for _, s := range restore.Plan(records, live(nil), restore.Options{BuiltIn: isBuiltIn}) {
			if isNewer := s.Archived.GetUID() == "u2"; isNewer != (s.Why == "") || isNewer == s.Older {
				t.Errorf("%s: %q", s.Archived.GetUID(), s.Why)
			}
		}
	}
}
