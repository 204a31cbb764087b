// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

// finishedJob is a Job as the API server sends it: 2.6 kB, of which names, identifiers and times differ.
func finishedJob(r *rand.Rand, i int) (audit.Object, archive.Record) {
	hex := func(n int) string { return fmt.Sprintf("%0*x", n, r.Uint64())[:n] }
	uid := hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12)
	at := noon.Add(time.Duration(i) * 70 * time.Millisecond).Truncate(time.Second)
	start, end := at.Add(-26*time.Hour).Format(time.RFC3339), at.Add(-24*time.Hour-time.Duration(r.IntN(3000))*time.Second).Format(time.RFC3339)
	o := audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: fmt.Sprint("team-", r.IntN(20)), Name: fmt.Sprintf("report-%d-%s", 29000000+i/20, hex(5)),
		UID: types.UID(uid), ResourceVersion: fmt.Sprint(81000000 + i*7 + r.IntN(7))}
	managed := `{"manager":%q,"operation":"Update","apiVersion":"batch/v1","time":%q,"fieldsType":"FieldsV1","fieldsV1":%s}`
	object := fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":%q,"generation":1,"creationTimestamp":%q,`+
		`"labels":{"app.kubernetes.io/name":"report","batch.kubernetes.io/controller-uid":%q,"batch.kubernetes.io/job-name":%[1]q,"controller-uid":%[6]q,"job-name":%[1]q,"team":%[2]q},`+
		`"annotations":{"batch.kubernetes.io/job-tracking":""},"managedFields":[`+
		fmt.Sprintf(managed, "cronjob-controller", start, `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:team":{}}},"f:spec":{"f:backoffLimit":{},"f:completionMode":{},"f:completions":{},"f:parallelism":{},"f:suspend":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:command":{},"f:env":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{}}},"f:dnsPolicy":{},"f:restartPolicy":{}}}}}`)+","+
		fmt.Sprintf(managed, "kube-controller-manager", end, `{"f:status":{"f:completionTime":{},"f:conditions":{},"f:ready":{},"f:startTime":{},"f:succeeded":{},"f:terminating":{},"f:uncountedTerminatedPods":{}}}`)+`]},`+
		`"spec":{"parallelism":1,"completions":1,"backoffLimit":6,"selector":{"matchLabels":{"batch.kubernetes.io/controller-uid":%[6]q}},"template":{"metadata":{"labels":{"app.kubernetes.io/name":"report","batch.kubernetes.io/controller-uid":%[6]q,"batch.kubernetes.io/job-name":%[1]q}},`+
		`"spec":{"containers":[{"name":"main","image":"registry.example.com/team/report:v1.4.2","command":["/report","--day","yesterday"],"env":[{"name":"LEVEL","value":"info"}],"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m","memory":"128Mi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Never","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}},"completionMode":"NonIndexed","suspend":false,"podReplacementPolicy":"TerminatingOrFailed"},`+
		`"status":{"conditions":[{"type":"SuccessCriteriaMet","status":"True","lastProbeTime":%[7]q,"lastTransitionTime":%[7]q,"reason":"CompletionsReached","message":"Reached expected number of succeeded pods"},{"type":"Complete","status":"True","lastProbeTime":%[7]q,"lastTransitionTime":%[7]q,"reason":"CompletionsReached","message":"Reached expected number of succeeded pods"}],"startTime":%[5]q,"completionTime":%[7]q,"succeeded":1,"terminating":0,"uncountedTerminatedPods":{},"ready":0}}`,
		o.Name, o.Namespace, uid, o.ResourceVersion, start, uid, end)
	return o, archive.Record{ArchivedAt: at.Add(time.Duration(r.IntN(1e9))), Cluster: "production", Policy: "batch", PolicyUID: "5e1d0000-0000-0000-0000-000000000000", Rule: "jobs",
		Due: at, Reason: "Expired", Object: json.RawMessage(object)}
}

// fill archives n Jobs with their results, and returns the bytes in the bucket.
func fill(t testing.TB, store *bucket, n int) (bytes int) {
	r := rand.New(rand.NewPCG(1, 2))
	b, x, segments := archive.NewBuilder(), archive.NewIndexer(store), 0
	seal := func(at time.Time) {
		s, err := b.Seal(at)
		expect.NoError(t, err)
		expect.NoError(t, store.Write(t.Context(), s.Name, s.Data))
		x.Add(s)
		for line := range s.Meta {
			x.Finish(s.Name, line, archive.Deleted, at)
		}
		if segments++; segments%40 == 0 {
			expect.NoError(t, x.Flush(t.Context(), at))
		}
	}
	var at time.Time
	for i := range n {
		o, record := finishedJob(r, i)
		_, err := b.Add(o, record)
		expect.NoError(t, err)
		if at = record.ArchivedAt; b.Full() {
			seal(at)
		}
	}
	if n%archive.MaxRecords > 0 {
		seal(at)
	}
	expect.NoError(t, x.Flush(t.Context(), at))
	for _, data := range store.objects {
		bytes += len(data)
	}
	return bytes
}

// TestSize: an archive of 1,000,000 Jobs has less than 200 MB.
func TestSize(t *testing.T) {
	const n = 5_000
	store := newBucket()
	total := fill(t, store, n)
	segments := 0
	for _, name := range store.names(archive.SegmentPrefix) {
		segments += len(store.objects[name])
	}
	t.Logf("%d bytes a Job: %d in segments, %d in the index", total/n, segments/n, (total-segments)/n)
	if total/n >= 200 {
		t.Errorf("%d bytes a Job, want less than 200", total/n)
	}
}

// BenchmarkAdd is the cost of a record.
func BenchmarkAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	o, record := finishedJob(r, 0)
	builder := archive.NewBuilder()
	b.ReportAllocs()
	for b.Loop() {
		if builder.Full() {
			_, err := builder.Seal(noon)
			expect.NoError(b, err)
		}
		_, err := builder.Add(o, record)
		expect.NoError(b, err)
	}
	b.SetBytes(int64(len(record.Object)))
}

// BenchmarkFind searches one of 100,000 records by name, and some by label and namespace.
func BenchmarkFind(b *testing.B) {
	store := newBucket()
	fill(b, store, 100_000)
	reader := &archive.Reader{Bucket: store}
	selector, err := labels.Parse("team=team-3")
	expect.NoError(b, err)
	namespace := "team-7"
	runtime.GC()
	for name, q := range map[string]archive.Query{
		"name":            {Name: "report-29000100-nothere"},
		"selector":        {Selector: selector, Name: "report-29000100-nothere"},
		"5% by namespace": {Namespace: &namespace},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				found, err := reader.Find(b.Context(), q)
				expect.NoError(b, err)
				b.ReportMetric(float64(len(found)), "found")
			}
		})
	}
}
