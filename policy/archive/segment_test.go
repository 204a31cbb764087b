// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestRoundTrip: what is read is what was written, byte for byte, for random records, with and without encryption.
func TestRoundTrip(t *testing.T) {
	key := identity(t)
	for name, recipients := range map[string][]age.Recipient{"plain": nil, "encrypted": {key.Recipient()}} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				random := rand.New(rand.NewPCG(seed, 0))
				b, want := archive.NewBuilder(recipients...), []archive.Record(nil)
				for line := range 1 + random.IntN(30) {
					o, r := randomRecord(random, line)
					got, err := b.Add(o, r)
					expect.NoError(t, err)
					expect.Equal(t, "line", line, got)
					r.Version = archive.Version
					want = append(want, r)
				}
				s, err := b.Seal(noon)
				expect.NoError(t, err)
				readBack(t, s, want, key)
			}
		})
	}
}

func readBack(t *testing.T, s archive.Segment, want []archive.Record, key age.Identity) {
	t.Helper()
	store := newBucket()
	expect.NoError(t, store.Write(t.Context(), s.Name, s.Data))
	r := &archive.Reader{Bucket: store, Identities: []age.Identity{key}}
	line := 0
	for f, err := range r.Records(t.Context(), s.Name) {
		expect.NoError(t, err)
		expect.Equal(t, "record", want[line], f.Record)
		expect.Equal(t, "metadata", s.Meta[line], f.Meta)
		one, err := get(t, r, s.Meta[line])
		expect.NoError(t, err)
		expect.Equal(t, "record by metadata", want[line], one)
		line++
	}
	expect.Equal(t, "records", len(want), line)
}

func randomRecord(random *rand.Rand, i int) (audit.Object, archive.Record) {
	o := audit.Object{APIVersion: "example.com/v1", Kind: "Report", Namespace: text(random), Name: fmt.Sprint("r", i), UID: types.UID(fmt.Sprint(random.Uint64())), ResourceVersion: "9"}
	metadata := map[string]any{"name": o.Name, "namespace": o.Namespace, "uid": o.UID, "resourceVersion": "9", "labels": map[string]string{text(random): text(random)}}
	object, _ := json.Marshal(map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": metadata, "spec": anything(random, 4)})
	r := archive.Record{ArchivedAt: noon.Add(time.Duration(random.IntN(1e9))), Cluster: text(random), Policy: text(random), PolicyUID: "p", Rule: text(random),
		Due: noon, Reason: "Expired", Outcome: text(random), Object: object}
	if random.IntN(2) == 0 {
		r.Redacted = []string{text(random)}
		r.Dependents = []json.RawMessage{json.RawMessage(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"a":1.50e3}`)}
		r.Events = []json.RawMessage{json.RawMessage(`{"reason":"<&>\u2028"}`)}
		r.Logs = []archive.Log{{Pod: "p", Container: "c", Text: text(random), Truncated: true}}
	}
	return o, r
}

// TestStandardTools: a segment is one zstd frame, and its name has the SHA-256 of the file.
func TestStandardTools(t *testing.T) {
	s := newWriter(t, newBucket()).write(noon, "shop", []string{"a", "b"})
	d, err := zstd.NewReader(nil)
	expect.NoError(t, err)
	text, err := d.DecodeAll(s.Data, nil)
	expect.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	expect.Equal(t, "lines", 2, len(lines))
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("line is not valid JSON: %s", line)
		}
	}
	if want := "segments/2026/11/27/20261127T120000Z-" + sha(s.Data) + ".jsonl.zst"; s.Name != want {
		t.Errorf("name %s, want %s", s.Name, want)
	}
}

// TestLinesAreAsEncodingJSONWritesThem: the format does not depend on how the object is copied.
func TestLinesAreAsEncodingJSONWritesThem(t *testing.T) {
	for name, spec := range map[string]string{
		"white space":       " {\n \t\"a b\" : [ 1 , 2 ] }\n",
		"numbers":           `[1.50e3,1E400,-0,0.10,123456789012345678901234567890]`,
		"escapes":           `"<&>\u2028\u00e9\/` + "\u2028\u2029" + `é"`,
		"invalid UTF-8":     "\"\xff\xc3\"",
		"invalid surrogate": `"\ud800"`,
		"duplicate names":   `{"a":1,"a":2}`,
		"key object":        `{"object":null,"x":"\"object\":null"}`,
	} {
		t.Run(name, func(t *testing.T) {
			o, r := subject("shop", "a", "7")
			r.Object = append(bytes.TrimSuffix(bytes.TrimSpace(r.Object), []byte("}")), `,"extra":`+spec+"}\n"...)
			r.Outcome, r.Cluster = `"object":null`, "<&>"
			r.Events = []json.RawMessage{json.RawMessage(`{"object":null}`)}
			r.Version = archive.Version
			var want bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			expect.NoError(t, e.Encode(r))
			b := archive.NewBuilder()
			_, err := b.Add(o, r)
			expect.NoError(t, err)
			s, err := b.Seal(noon)
			expect.NoError(t, err)
			d, err := zstd.NewReader(bytes.NewReader(s.Data))
			expect.NoError(t, err)
			got, err := io.ReadAll(d)
			expect.NoError(t, err)
			expect.Equal(t, "line", want.String(), string(got))
		})
	}
}

// TestRecordIsOneLine: white space between tokens stays or not, but a record has no line break, and no bytes of the record before it.
func TestRecordIsOneLine(t *testing.T) {
	b := archive.NewBuilder()
	var want []string
	for _, change := range [][2]string{{`,`, `,`}, {`,`, ` ,	`}, {`,`, ",\r\n "}, {`{`, "{\r"}, {`"apiVersion":"batch/v1","kind":"Job",`, "\n"}, {`"apiVersion":"batch/v1","kind":"Job",`, " "}} {
		o, r := subject("shop", "a", "7")
		want = append(want, string(r.Object))
		r.Object = json.RawMessage(strings.ReplaceAll(string(r.Object), change[0], change[1]))
		r.Outcome = strings.Repeat("x", 100/len(want))
		_, err := b.Add(o, r)
		expect.NoError(t, err)
	}
	s, err := b.Seal(noon)
	expect.NoError(t, err)
	store, line := newBucket(), 0
	expect.NoError(t, store.Write(t.Context(), s.Name, s.Data))
	for f, err := range (&archive.Reader{Bucket: store}).Records(t.Context(), s.Name) {
		expect.NoError(t, err)
		var got bytes.Buffer
		expect.NoError(t, json.Compact(&got, f.Record.Object))
		expect.Equal(t, "object", want[line], got.String())
		line++
	}
	expect.Equal(t, "records", len(want), line)
}

func TestAddRefuses(t *testing.T) {
	version, record := subject("shop", "a", "7")
	for name, test := range map[string]struct {
		change func(*audit.Object, *archive.Record)
		text   string
	}{
		"another resourceVersion":     {func(o *audit.Object, _ *archive.Record) { o.ResourceVersion = "8" }, "the content is of Job.batch/shop/a with UID uid-shop-a and resourceVersion 7, and not of"},
		"another UID":                 {func(o *audit.Object, _ *archive.Record) { o.UID = "u2" }, "UID u2"},
		"another name":                {func(o *audit.Object, _ *archive.Record) { o.Name = "b" }, "shop/b"},
		"another namespace":           {func(o *audit.Object, _ *archive.Record) { o.Namespace = "x" }, "the content is of"},
		"another kind":                {func(o *audit.Object, _ *archive.Record) { o.Kind = "Pod" }, "the content is of"},
		"another group":               {func(o *audit.Object, _ *archive.Record) { o.APIVersion = "v1" }, "the content is of"},
		"another API version is fine": {func(o *audit.Object, _ *archive.Record) { o.APIVersion = "batch/v2" }, "the content is of"},
		"no UID": {func(o *audit.Object, r *archive.Record) {
			o.UID = ""
			r.Object = jobOf(*o)
		}, "the content is of"},
		"fields with other letters": {func(o *audit.Object, r *archive.Record) {
			r.Object = json.RawMessage(strings.Replace(string(jobOf(*o)), `"uid"`, `"UID"`, 1))
		}, "the content is of"},
		"no JSON":                  {func(_ *audit.Object, r *archive.Record) { r.Object = json.RawMessage(`{"a":`) }, "not valid JSON"},
		"no object":                {func(_ *audit.Object, r *archive.Record) { r.Object = nil }, "not valid JSON"},
		"a dependent without kind": {func(_ *audit.Object, r *archive.Record) { r.Dependents = []json.RawMessage{json.RawMessage(`{}`)} }, "dependent 0"},
		"a dependent that is not JSON": {func(_ *audit.Object, r *archive.Record) {
			r.Dependents = []json.RawMessage{json.RawMessage(`{`)}
		}, "dependent 0"},
		"an Event that is not JSON": {func(_ *audit.Object, r *archive.Record) { r.Events = []json.RawMessage{json.RawMessage(`{`)} }, "json"},
		"more than 32 MiB": {func(_ *audit.Object, r *archive.Record) {
			r.Logs = []archive.Log{{Text: strings.Repeat("x", archive.MaxRecord)}}
		}, "lower logs.tailBytes"},
	} {
		t.Run(name, func(t *testing.T) {
			o, r := version, record
			test.change(&o, &r)
			b := archive.NewBuilder()
			_, err := b.Add(version, record)
			expect.NoError(t, err)
			_, err = b.Add(o, r)
			if strings.HasSuffix(name, "is fine") {
				expect.NoError(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("error %v, want %q", err, test.text)
			}
			s, err := b.Seal(noon)
			expect.NoError(t, err)
			expect.Equal(t, "records of the segment", 1, len(s.Meta))
			readBack(t, s, []archive.Record{withVersion(record)}, nil)
		})
	}
}

func withVersion(r archive.Record) archive.Record {
	r.Version = archive.Version
	return r
}

func TestWithKind(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"an item of a list":       {`{"metadata":{"name":"a"}}`, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"}}`},
		"white space":             {" { \"a\" : 1 } ", `{"apiVersion":"batch/v1","kind":"Job","a" : 1 }`},
		"complete":                {`{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"Pod","apiVersion":"v1"}`},
		"a kind below metadata":   {`{"metadata":{"kind":"x"}}`, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"kind":"x"}}`},
		"an object with no field": {`{}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := archive.WithKind(json.RawMessage(test.object), schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"})
			expect.NoError(t, err)
			expect.Equal(t, "object", test.want, string(got))
		})
	}
}

// TestFull: a segment is full by number and by size.
func TestFull(t *testing.T) {
	b := archive.NewBuilder()
	for i := range archive.MaxRecords {
		expect.Equal(t, "full", false, b.Full())
		o, r := subject("shop", fmt.Sprint(i), "7")
		_, err := b.Add(o, r)
		expect.NoError(t, err)
	}
	expect.Equal(t, "full by number", true, b.Full())
	_, err := b.Seal(noon)
	expect.NoError(t, err)
	o, r := subject("shop", "a", "7")
	r.Logs = []archive.Log{{Text: strings.Repeat("x", archive.FullBytes)}}
	_, err = b.Add(o, r)
	expect.NoError(t, err)
	expect.Equal(t, "full by size", true, b.Full())
}

func TestSealOfNothing(t *testing.T) {
	if _, err := archive.NewBuilder().Seal(noon); err == nil {
		t.Error("an empty segment")
	}
}
