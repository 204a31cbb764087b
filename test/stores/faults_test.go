// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

// retriesMost is how long a client may retry in these tests.
const retriesMost = time.Minute

// replaced is a URL with another bucket.
func replaced(text string) string {
	return strings.Replace(text, "://"+stores.Bucket+"/", "://other/", 1)
}

// behind opens a store through a proxy.
func behind(t *testing.T, s *stores.Store) (archive.Bucket, *stores.Proxy) {
	t.Helper()
	p := stores.NewProxy(t, s)
	return openedAt(t, s.URLAt(p.Address(), "behind"), s.Credentials), p
}

// TestFaults are faults during a write: it never succeeds if the store has not exactly what was written, and after the fault the
// same write succeeds, unless the store has other bytes under the name.
func TestFaults(t *testing.T) {
	s := stores.S3(t)
	whole := opened(t, s, "")
	keep := func(change func([]byte) []byte) stores.Fault {
		return stores.Keeping(func(name string, data []byte) {
			_ = whole.Write(context.Background(), name, change(data)) // the comparison says so
		})
	}
	for name, test := range map[string]struct {
		match   func(method, name string) bool
		fault   stores.Fault
		corrupt bool // the error says that the store has something else
		stays   bool // what the store has instead stays after the fault
	}{
		"connections are closed":                  {nil, stores.Down, false, false},
		"access is denied":                        {nil, stores.Refusing(http.StatusForbidden, "AccessDenied"), false, false},
		"the store is full":                       {stores.Writes(""), stores.Refusing(http.StatusInsufficientStorage, "InsufficientStorage"), false, false},
		"the store asks to slow down":             {stores.Writes(""), stores.Refusing(http.StatusServiceUnavailable, "SlowDown"), false, false},
		"it answers 200 and drops the body":       {stores.Writes(""), stores.Swallowing, true, false},
		"it answers 200 and has half of the body": {stores.Writes(""), keep(func(d []byte) []byte { return d[:len(d)/2] }), true, true},
		"it answers 200 and has more":             {stores.Writes(""), keep(func(d []byte) []byte { return append(d, 0) }), true, true},
		"it answers 200 and has another bit":      {stores.Writes(""), keep(func(d []byte) []byte { d[7] ^= 1; return d }), true, true},
		"the connection ends before the answer":   {nil, once(stores.Unanswered, stores.Down), false, false},
		"the read back is cut":                    {stores.Reads("segments/"), stores.Torn, false, false},
		"the read back is shorter":                {stores.Reads("segments/"), stores.Short, true, false},
		"one bit of the read back is another":     {stores.Reads("segments/"), stores.Flipped, true, false},
		"the read back is refused":                {stores.Reads("segments/"), stores.Refusing(http.StatusForbidden, "AccessDenied"), false, false},
		"the read back does not find the object":  {stores.Reads("segments/"), stores.Refusing(http.StatusNotFound, "NoSuchKey"), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := behind(t, s)
			object, data := "segments/"+url.PathEscape(name), []byte(strings.Repeat("a record\n", 1000))
			fault := p.Arm(test.match, test.fault)
			ctx, cancel := context.WithTimeout(t.Context(), retriesMost)
			defer cancel()
			err := b.Write(ctx, object, data)
			if err == nil {
				t.Fatal("the write succeeded")
			}
			if !strings.Contains(err.Error(), object) {
				t.Errorf("the error does not name the object: %v", err)
			}
			if errors.Is(err, archive.ErrCorrupt) != test.corrupt {
				t.Errorf("the error is %v", err)
			}
			if fault.Fired() == 0 {
				t.Error("the fault affected no request")
			}
			fault.Lift()
			err = b.Write(t.Context(), object, data)
			if (err != nil) != test.stays {
				t.Errorf("after the fault: %v", err)
			}
			if got, _ := read(t, b, object); (string(got) == string(data)) == test.stays {
				t.Errorf("after the fault, the store has %d bytes", len(got))
			}
		})
	}
}

// once is a fault for the first request, and another for all later ones.
func once(first, later stores.Fault) stores.Fault {
	turn := make(chan stores.Fault, 1)
	turn <- first
	return func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		select {
		case f := <-turn:
			f(w, r, store)
		default:
			later(w, r, store)
		}
	}
}

// TestSlowStore waits as long as the context, and no longer.
func TestSlowStore(t *testing.T) {
	s := stores.S3(t)
	b, p := behind(t, s)
	p.Arm(nil, stores.Slow(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := b.Write(ctx, "segments/a", []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TestStoreStops: a store that ends and starts again has what was written, and can be used without opening it again.
func TestStoreStops(t *testing.T) {
	s := stores.S3(t)
	b := opened(t, s, "x")
	expect.NoError(t, b.Write(t.Context(), "segments/a", []byte("x")))
	s.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), retriesMost)
	defer cancel()
	if err := b.Write(ctx, "segments/b", []byte("x")); err == nil {
		t.Error("a write succeeded without a store")
	}
	expect.NoError(t, s.Start(t.Context()))
	expect.NoError(t, b.Write(t.Context(), "segments/b", []byte("x")))
	expect.Equal(t, "objects", []string{"segments/a", "segments/b"}, names(t, b, "segments/"))
}
