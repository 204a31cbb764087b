// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestDamaged: every truncated or changed segment or index object is an error, and no record of it is returned.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte, int) []byte{
		"truncated": func(d []byte, i int) []byte { return d[:i] },
		"one bit":   func(d []byte, i int) []byte { d[i] ^= 1 << (i % 8); return d },
		"zeros from here, as after a crash of a file system": func(d []byte, i int) []byte { clear(d[i:]); return d },
		"a part twice": func(d []byte, i int) []byte { return append(d, d[i:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket()
			w := newWriter(t, store)
			s := w.write(noon, "shop", []string{"a", "b", "c"})
			w.flush(noon)
			index := store.names("index/")[0]
			for _, object := range []string{s.Name, index} {
				good := store.objects[object]
				for i := range good {
					bad := damage(bytes.Clone(good), i)
					if bytes.Equal(bad, good) {
						continue
					}
					store.objects[object] = bad
					isDamaged(t, store, s, object)
				}
				store.objects[object] = good
			}
		})
	}
}

func isDamaged(t *testing.T, store *bucket, s archive.Segment, object string) {
	t.Helper()
	r := &archive.Reader{Bucket: store}
	var err error
	if object == s.Name {
		_, err = get(t, r, s.Meta[0])
	} else {
		var found []archive.Meta
		if found, err = r.Find(t.Context(), archive.Query{}); len(found) > 0 {
			t.Fatalf("%s found in a damaged index object", found[0].Name)
		}
	}
	if !errors.Is(err, archive.ErrCorrupt) || !strings.Contains(err.Error(), object) {
		t.Fatalf("error %v, want ErrCorrupt that names %s", err, object)
	}
}

// TestContentWithRightDigest: content that somebody wrote with its digest, and that is not a segment, is an error.
func TestContentWithRightDigest(t *testing.T) {
	good := newWriter(t, newBucket()).write(noon, "shop", []string{"a"})
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"not zstd":               {[]byte("hello"), "not what was written"},
		"half a frame":           {good.Data[:len(good.Data)/2], "not what was written"},
		"not JSON":               {compress(t, "hello\n"), "not what was written"},
		"no record":              {compress(t, "{}\n"), "not valid JSON"},
		"a later version":        {compress(t, `{"version":2,"object":{}}`+"\n"), "use a newer version"},
		"a record of no object":  {compress(t, `{"version":1,"object":{"kind":"Job"}}`+"\n"), "no apiVersion"},
		"a line without an end":  {compress(t, strings.Repeat("x", archive.MaxRecord+1<<20)), "token too long"},
		"a segment in a segment": {compress(t, string(good.Data)), "not what was written"},
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket()
			object := "segments/2026/11/27/20261127T120000Z-" + sha(test.data) + ".jsonl.zst"
			store.objects[object] = test.data
			for f, err := range (&archive.Reader{Bucket: store}).Records(t.Context(), object) {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), object) {
					t.Errorf("record %v, error %v, want %q", f, err, test.want)
				}
			}
		})
	}
}

// TestEncrypted: without the right private key there is an error that says so, and nothing in the bucket is readable.
func TestEncrypted(t *testing.T) {
	key, other := identity(t), identity(t)
	store := newBucket()
	w := newWriter(t, store, key.Recipient())
	s := w.write(noon, "shop", []string{"secret-name"})
	w.flush(noon)
	for name, data := range store.objects {
		if bytes.Contains(data, []byte("secret")) || !strings.HasSuffix(name, ".jsonl.zst.age") || !bytes.HasPrefix(data, []byte("age-encryption.org/v1\n")) {
			t.Errorf("%s is not an age file", name)
		}
	}
	for name, identities := range map[string][]age.Identity{"no key": nil, "another key": {other}} {
		r := &archive.Reader{Bucket: store, Identities: identities}
		if _, err := get(t, r, s.Meta[0]); !errors.Is(err, archive.ErrEncrypted) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.Find(t.Context(), archive.Query{}); !errors.Is(err, archive.ErrEncrypted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := &archive.Reader{Bucket: store, Identities: []age.Identity{other, key}}
	expect.Equal(t, "found", "secret-name@7:", find(t, r, archive.Query{}))
}

// TestBomb: a small object that decompresses to many lines is an error.
func TestBomb(t *testing.T) {
	var data bytes.Buffer
	e, err := zstd.NewWriter(&data)
	expect.NoError(t, err)
	line := []byte(`{"segment":"segments/2026/11/27/20261127T120000Z-` + strings.Repeat("0", 64) + `.jsonl.zst","name":"` + strings.Repeat("x", 1<<20) + "\"}\n")
	for range 256 {
		_, err := e.Write(line)
		expect.NoError(t, err)
	}
	expect.NoError(t, e.Close())
	store := newBucket()
	foreign(store, archive.IndexPrefix, data.Bytes(), "")
	if _, err := (&archive.Reader{Bucket: store}).Find(t.Context(), archive.Query{Name: "a"}); !errors.Is(err, archive.ErrCorrupt) || !strings.Contains(err.Error(), "more than 256 MiB") {
		t.Errorf("%d bytes: %v", data.Len(), err)
	}
}
