// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/engine"
	records "github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestParseObjects(t *testing.T) {
	for args, want := range map[string]string{
		"":                    "",
		"jobs":                "jobs/",
		"jobs,po":             "jobs/ po/",
		"job a b":             "job/a job/b",
		"jobs,po a":           "jobs/a po/a",
		"job/a secret/b":      "job/a secret/b",
		"jobs.batch,pod name": "jobs.batch/name pod/name",
	} {
		var named []string
		kind := func(name string) archive.Kind { return archive.Kind{Known: schema.GroupKind{Kind: name}} }
		got, err := archive.ParseObjects(strings.Fields(args), kind)
		expect.NoError(t, err)
		for _, o := range got {
			named = append(named, o.Known.Kind+"/"+o.Name)
		}
		expect.Equal(t, args, want, strings.Join(named, " "))
	}
	for _, args := range []string{"job/", "/a", "job/a b", "job a/b"} {
		if got, err := archive.ParseObjects(strings.Fields(args), func(string) archive.Kind { return archive.Kind{} }); err == nil {
			t.Errorf("%s: %v", args, got)
		}
	}
}

// kinds are the kinds of the random records, by the names under which selections name them.
var kinds = map[string]schema.GroupKind{
	"job": {Group: "batch", Kind: "Job"}, "pod": {Kind: "Pod"}, "configmap": {Kind: "ConfigMap"}, "namespace": {Kind: "Namespace"},
}

// TestFindWithQuery: what makes searches fast does not change what they find.
func TestFindWithQuery(t *testing.T) {
	to, err := store.Open(t.Context(), "file://"+t.TempDir(), nil)
	expect.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	b := records.NewBuilder()
	for i := range 60 {
		addRandom(t, b, random, i)
	}
	segment, err := b.Seal(fixture.Now)
	expect.NoError(t, err)
	expect.NoError(t, to.Write(t.Context(), segment.Name, segment.Data))
	reader := &records.Reader{Bucket: to}
	some := 0
	for range 100 {
		s := randomSelection(random)
		fast, err := s.Find(t.Context(), reader)
		expect.NoError(t, err)
		for i := range s.Objects {
			s.Objects[i].Known = schema.GroupKind{}
		}
		slow, err := s.Find(t.Context(), reader)
		expect.NoError(t, err)
		expect.Equal(t, fmt.Sprintf("%+v", s.Objects), slow, fast)
		some += len(fast)
	}
	if some == 0 {
		t.Error("no selection finds anything")
	}
}

// TestDependentsOfAClusterScopedObject: two can have the same name, in different namespaces. In one namespace, those that the user names
// are found.
func TestDependentsOfAClusterScopedObject(t *testing.T) {
	to, err := store.Open(t.Context(), "file://"+t.TempDir(), nil)
	expect.NoError(t, err)
	b := records.NewBuilder()
	o := audit.Object{APIVersion: "example.com/v1", Kind: "Tenant", Name: "t", UID: "u", ResourceVersion: "1"}
	r := records.Record{
		ArchivedAt: fixture.Now, Policy: "p", Rule: "r", Due: fixture.Now,
		Object: json.RawMessage(`{"apiVersion":"example.com/v1","kind":"Tenant","metadata":{"name":"t","uid":"u","resourceVersion":"1"}}`),
	}
	for _, namespace := range []string{"a", "b"} {
		r.Dependents = append(r.Dependents, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":%q}}`, namespace))
	}
	_, err = b.Add(o, r)
	expect.NoError(t, err)
	segment, err := b.Seal(fixture.Now)
	expect.NoError(t, err)
	expect.NoError(t, to.Write(t.Context(), segment.Name, segment.Data))
	for selected, want := range map[string][]string{"c": {"a", "b"}, "c b": {"b"}, "c other": nil, "d b": nil, " b": nil} {
		name, namespace, isOne := strings.Cut(selected, " ")
		configMaps := archive.Kind{Is: func(k schema.GroupKind) bool { return k == kinds["configmap"] }, Known: kinds["configmap"], Namespaced: true}
		s := &archive.Selection{Objects: []archive.Object{{Kind: configMaps, Name: name}}}
		if isOne {
			s.Namespace = &namespace
		}
		found, err := s.Find(t.Context(), &records.Reader{Bucket: to})
		expect.NoError(t, err)
		var got []string
		expect.NoError(t, archive.Read(t.Context(), &records.Reader{Bucket: to}, found, func(c archive.Content) error {
			m, err := c.Manifest()
			got = append(got, m.GetNamespace())
			return err
		}))
		expect.Equal(t, "namespaces of "+selected, want, got)
	}
}

func addRandom(t *testing.T, b *records.Builder, random *rand.Rand, i int) {
	t.Helper()
	o := audit.Object{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: []string{"a", "b"}[random.IntN(2)], Name: fmt.Sprint("n", random.IntN(4)),
		UID: types.UID(fmt.Sprint("u", i)), ResourceVersion: "1",
	}
	r := records.Record{ArchivedAt: fixture.Now.Add(time.Duration(i) * time.Second), Policy: "p", Rule: "r", Due: fixture.Now}
	switch random.IntN(3) {
	case 0:
		o.Kind, o.Namespace, o.Name = "Namespace", "", []string{"a", "b"}[random.IntN(2)]
	case 1:
		o.APIVersion, o.Kind = "batch/v1", "Job"
		r.Dependents = []json.RawMessage{fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n%d"}}`, random.IntN(4))}
	}
	r.Object = fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"1"}}`,
		o.APIVersion, o.Kind, o.Name, o.Namespace, o.UID)
	_, err := b.Add(o, r)
	expect.NoError(t, err)
}

func randomSelection(random *rand.Rand) *archive.Selection {
	s := &archive.Selection{Restore: random.IntN(2) == 0}
	if random.IntN(2) == 0 {
		namespace := []string{"a", "b"}[random.IntN(2)]
		s.Namespace = &namespace
	}
	names := []string{"job", "pod", "configmap", "namespace"}
	kind := names[random.IntN(4)]
	for range random.IntN(3) {
		if random.IntN(3) == 0 {
			kind = names[random.IntN(4)]
		}
		known := kinds[kind]
		o := archive.Object{Kind: archive.Kind{Is: func(k schema.GroupKind) bool { return k == known }, Known: known, Namespaced: kind != "namespace"}}
		if random.IntN(2) == 0 {
			o.Name = []string{"n0", "n1", "n2", "a"}[random.IntN(4)]
		}
		s.Objects = append(s.Objects, o)
	}
	return s
}

// TestFindByTime: an object that was recorded before a time and deleted after it belongs to the later time.
func TestFindByTime(t *testing.T) {
	to, err := store.Open(t.Context(), "file://"+t.TempDir(), nil)
	expect.NoError(t, err)
	b := records.NewBuilder()
	for i := range 3 {
		name := fmt.Sprint("job-", i)
		_, err := b.Add(audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "7"},
			records.Record{ArchivedAt: fixture.Now, Policy: "batch", Rule: "r", Due: fixture.Now, Reason: "Expired", Object: json.RawMessage(fmt.Sprintf(
				`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"7"}}`, name, name))})
		expect.NoError(t, err)
	}
	segment, err := b.Seal(fixture.Now)
	expect.NoError(t, err)
	expect.NoError(t, to.Write(t.Context(), segment.Name, segment.Data))
	index := records.NewIndexer(to)
	index.Add(segment)
	index.Finish(segment.Name, 0, records.Deleted, fixture.Now.Add(11*time.Hour)) // job-1 has no result
	index.Finish(segment.Name, 2, records.Gone, fixture.Now.Add(11*time.Hour))    // it was deleted at an unknown time before
	expect.NoError(t, index.Flush(t.Context(), fixture.Now.Add(11*time.Hour)))
	for name, test := range map[string]struct {
		since, until time.Duration
		want         string
	}{
		"the hour of the record":          {0, time.Hour, "job-2 job-1"},
		"the hour of the deletion":        {11 * time.Hour, 12 * time.Hour, "job-2 job-0"},
		"before the record":               {-time.Hour, 0, ""},
		"from the record to the deletion": {0, 12 * time.Hour, "job-2 job-1 job-0"},
		"between the record and deletion": {time.Hour, 11 * time.Hour, "job-2"},
	} {
		s := archive.Selection{Since: fixture.Now.Add(test.since), Until: fixture.Now.Add(test.until)}
		found, err := s.Find(t.Context(), &records.Reader{Bucket: to})
		expect.NoError(t, err)
		var names []string
		for _, e := range found {
			names = append(names, e.Name)
		}
		expect.Equal(t, name, test.want, strings.Join(names, " "))
	}
}

// TestFindWithFilterHoldsAPart: the memory has only a part of the records that a filter does not match.
func TestFindWithFilterHoldsAPart(t *testing.T) {
	const n = 100_000
	to, err := store.Open(t.Context(), "file://"+t.TempDir(), nil)
	expect.NoError(t, err)
	b, index := records.NewBuilder(), records.NewIndexer(to)
	for i := range n {
		name := fmt.Sprint("job-", i)
		o := audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name, UID: types.UID(fmt.Sprintf("%x", sha256.Sum256([]byte(name)))), ResourceVersion: "7"}
		_, err := b.Add(o, records.Record{ArchivedAt: fixture.Now.Add(time.Duration(i) * time.Millisecond), Policy: "batch", Rule: "r", Due: fixture.Now, Object: fmt.Appendf(nil,
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"7","labels":{"app":"a"}}}`, name, o.UID)})
		expect.NoError(t, err)
		if b.Full() {
			segment, err := b.Seal(fixture.Now)
			expect.NoError(t, err)
			expect.NoError(t, to.Write(t.Context(), segment.Name, segment.Data))
			index.Add(segment)
			if i%7000 == 6999 || i == n-1 {
				expect.NoError(t, index.Flush(t.Context(), fixture.Now))
			}
		}
	}
	compiler, err := engine.NewCompiler(engine.Options{})
	expect.NoError(t, err)
	filter, problems := compiler.Filter(`record.name in ["job-5", "job-99000"]`, "--cel")
	expect.Equal(t, "problems", 0, len(problems))
	before, most, evaluated := heap(), uint64(0), 0
	s := archive.Selection{Filter: filter, Evaluator: compiler.NewEvaluator(t.Context()), Progress: func(more int) {
		if evaluated += more; evaluated%5000 == 0 {
			most = max(most, heap())
		}
	}}
	defer s.Evaluator.Close()
	found, err := s.Find(t.Context(), &records.Reader{Bucket: to})
	expect.NoError(t, err)
	expect.Equal(t, "found", 2, len(found))
	expect.Equal(t, "the newest", "job-99000", found[0].Name)
	expect.Equal(t, "evaluated", n, evaluated)
	if most -= min(most, before); most > 48<<20 {
		t.Errorf("%d MiB for %d records", most>>20, n)
	}
}

// heap is how many bytes of the heap are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
