// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

func compress(t testing.TB, text string) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	expect.NoError(t, err)
	return e.EncodeAll([]byte(text), nil)
}

const (
	fuzzSegment = "segments/2026/11/27/20261127T120000Z-0000000000000000000000000000000000000000000000000000000000000000.jsonl.zst"
	fuzzRecord  = `{"version":1,"archivedAt":"2026-11-27T12:00:00Z","policy":"p","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":"1"}}}`
	fuzzMeta    = `{"segment":"` + fuzzSegment + `","line":0,"apiVersion":"v1","kind":"Pod","name":"a","uid":"u","resourceVersion":"1"}`
	fuzzResult  = `{"result":"deleted","resultTime":"2026-11-27T12:00:00Z","of":"` + fuzzSegment + `","lines":[[0,9]]}`
)

// FuzzReader: no content of segments and index objects, in the bucket under the right digest, makes the reader panic, run without
// end or return a record together with an error.
func FuzzReader(f *testing.F) {
	f.Add(fuzzRecord+"\n", fuzzMeta+"\n"+fuzzResult+"\n", true)
	f.Add("{}", `{"result":"x","lines":[[-5,99999999],[3,1]],"of":"x"}`, true)
	f.Add(fuzzRecord, `{"segment":"x"}`, true)
	f.Add("\x28\xb5\x2f\xfd", "\x28\xb5\x2f\xfd\x00\x58", false)
	f.Fuzz(func(t *testing.T, segment, index string, compressed bool) {
		store := newBucket()
		for prefix, text := range map[string]string{"segments/": segment, "index/": index} {
			data := []byte(text)
			if compressed {
				data = compress(t, text)
			}
			store.objects[prefix+"2026/11/27/20261127T120000Z-"+sha(data)+".jsonl.zst"] = data
		}
		r := &archive.Reader{Bucket: store}
		if found, err := r.Find(t.Context(), archive.Query{}); err != nil && len(found) > 0 {
			t.Fatalf("both %v and %v", found, err)
		}
		for _, name := range store.names("segments/") {
			for found, err := range r.Records(t.Context(), name) {
				if err == nil && (found.APIVersion == "" || found.Kind == "") {
					t.Fatalf("a record of no kind: %s", found.Record.Object)
				}
			}
		}
		if _, err := r.Verify(t.Context(), archive.Retention{}, noon, nil); err != nil {
			t.Fatalf("verify: %v", err) // damage is in the result
		}
	})
}
