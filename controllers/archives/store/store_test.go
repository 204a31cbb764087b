// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	"google.golang.org/api/googleapi"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

var content = bytes.Repeat([]byte("content "), 20_000)

// TestWriteVerifies: Write succeeds only if the store has exactly the bytes.
func TestWriteVerifies(t *testing.T) {
	broken := errors.New("connection reset")
	for name, test := range map[string]struct {
		fake    func(*fake)
		want    error
		message string
	}{
		"an honest store":               {fake: func(*fake) {}},
		"nothing is stored":             {fake: func(f *fake) { f.keep = func([]byte) []byte { return nil } }, want: archive.ErrCorrupt, message: "does not have the object"},
		"empty":                         {fake: func(f *fake) { f.keep = func([]byte) []byte { return []byte{} } }, want: archive.ErrCorrupt, message: "other bytes"},
		"truncated by one byte":         {fake: func(f *fake) { f.keep = func(d []byte) []byte { return d[:len(d)-1] } }, want: archive.ErrCorrupt, message: "other bytes"},
		"one byte more":                 {fake: func(f *fake) { f.keep = func(d []byte) []byte { return append(d, 0) } }, want: archive.ErrCorrupt, message: "other bytes"},
		"one bit in the last byte":      {fake: func(f *fake) { f.keep = func(d []byte) []byte { d[len(d)-1] ^= 1; return d } }, want: archive.ErrCorrupt, message: "other bytes"},
		"one bit in the first byte":     {fake: func(f *fake) { f.keep = func(d []byte) []byte { d[0] ^= 1; return d } }, want: archive.ErrCorrupt, message: "other bytes"},
		"it exists with the same bytes": {fake: func(f *fake) { f.objects["a/b"] = content }},
		"it exists with other bytes":    {fake: func(f *fake) { f.objects["a/b"] = []byte("x") }, want: archive.ErrCorrupt, message: "another program"},
		"the write fails":               {fake: func(f *fake) { f.writeError, f.keep = broken, func([]byte) []byte { return nil } }, want: broken, message: "write object"},
		"the answer gets lost":          {fake: func(f *fake) { f.writeError = broken }},
		"it exists, and is locked": {fake: func(f *fake) {
			f.objects["a/b"], f.writeError, f.keep = content, errLocked, func([]byte) []byte { return nil }
		}},
		"other bytes are locked":        {fake: func(f *fake) { f.writeError, f.keep = errLocked, func(d []byte) []byte { return d[1:] } }, want: errLocked, message: "write object"},
		"reading back fails":            {fake: func(f *fake) { f.readError = broken }, want: broken, message: "verify"},
		"reading back is not permitted": {fake: func(f *fake) { f.readError = errLocked }, want: errLocked, message: "verify"},
	} {
		t.Run(name, func(t *testing.T) {
			f, bucket := newFake()
			test.fake(f)
			s := store.New(bucket)
			err := s.Write(t.Context(), "a/b", content)
			if test.want == nil {
				expect.NoError(t, err)
				return
			}
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.message) || !strings.Contains(err.Error(), `"a/b"`) {
				t.Errorf("error %v, want %v with %q and the name", err, test.want, test.message)
			}
		})
	}
}

// TestWriteNeverReplaces: an object keeps its bytes.
func TestWriteNeverReplaces(t *testing.T) {
	f, bucket := newFake()
	s := store.New(bucket)
	expect.NoError(t, s.Write(t.Context(), "a", []byte("first")))
	if err := s.Write(t.Context(), "a", []byte("second")); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	expect.Equal(t, "object", "first", string(f.objects["a"]))
}

// TestPartsAreDeleted: a full disk leaves the beginning of an object under its name. An object that is locked, or whose write is reported
// as a success, stays for verification to report. If nothing is there, Write sends no deletion: the store could carry it out later, after
// the caller has written the object again.
func TestPartsAreDeleted(t *testing.T) {
	half := func(d []byte) []byte { return d[:len(d)/2] }
	for name, test := range map[string]struct {
		err       error
		keep      func([]byte) []byte
		objects   int
		deletions int
	}{
		"the disk is full":    {syscall.ENOSPC, half, 0, 1},
		"nothing was written": {syscall.ENOSPC, func([]byte) []byte { return nil }, 0, 0},
		"the store is locked": {errLocked, half, 1, 0},
		"a success":           {nil, half, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, bucket := newFake()
			f.writeError, f.keep = test.err, test.keep
			err := store.New(bucket).Write(t.Context(), "a", content)
			if err == nil || test.err != nil && !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			expect.Equal(t, "objects", test.objects, len(f.objects))
			expect.Equal(t, "deletions", test.deletions, f.deletions)
			expect.Equal(t, "must not be written again", test.deletions > 0, errors.Is(err, archive.ErrPart))
		})
	}
}

func TestWriteIsCanceled(t *testing.T) {
	f, bucket := newFake()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.New(bucket).Write(ctx, "a", content); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	expect.Equal(t, "objects", 0, len(f.objects))
}

func TestRead(t *testing.T) {
	s := store.New(memblob.OpenBucket(nil))
	if _, err := s.Read(t.Context(), "a"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	expect.NoError(t, s.Write(t.Context(), "a", content))
	r, err := s.Read(t.Context(), "a")
	expect.NoError(t, err)
	got, err := io.ReadAll(r)
	expect.NoError(t, err)
	expect.NoError(t, r.Close())
	if !bytes.Equal(got, content) {
		t.Error("other content")
	}
}

func TestList(t *testing.T) {
	s := store.New(memblob.OpenBucket(nil))
	for _, name := range []string{"b/2", "a/1", "b/10", "c"} {
		expect.NoError(t, s.Write(t.Context(), name, []byte("12")))
	}
	var got []string
	for e, err := range s.List(t.Context(), "b/") {
		expect.NoError(t, err)
		expect.Equal(t, "size", 2, e.Size)
		got = append(got, e.Name)
	}
	expect.Equal(t, "names", []string{"b/10", "b/2"}, got)
	for _, err := range s.List(t.Context(), "") {
		expect.NoError(t, err)
		break
	}
}

// TestListThatBreaks: a connection that the store closes does not end the list.
func TestListThatBreaks(t *testing.T) {
	f := &fake{listed: &url.Error{Op: "Get", URL: "http://store", Err: io.EOF}}
	for _, err := range store.New(blob.NewBucket(f)).List(t.Context(), "") {
		if !errors.Is(err, io.EOF) {
			t.Errorf("error %v", err)
		}
		return
	}
	t.Error("the list is empty, without an error")
}

func TestDelete(t *testing.T) {
	broken := errors.New("connection reset")
	for name, test := range map[string]struct {
		err     error
		refused bool
		works   bool
	}{
		"deleted":                      {works: true},
		"not there":                    {err: errNone, works: true},
		"locked":                       {err: errLocked, refused: true},
		"a file without permission":    {err: &fs.PathError{Op: "remove", Path: "a", Err: fs.ErrPermission}, refused: true},
		"Google: a retention policy":   {err: &googleapi.Error{Code: http.StatusForbidden}, refused: true},
		"Azure: an immutable blob":     {err: &azcore.ResponseError{StatusCode: http.StatusConflict, ErrorCode: "BlobImmutableDueToPolicy"}, refused: true},
		"S3: 403":                      {err: httpError(http.StatusForbidden), refused: true},
		"MinIO: 400":                   {err: httpError(http.StatusBadRequest), refused: true},
		"too many requests":            {err: httpError(http.StatusTooManyRequests)},
		"an error of the store":        {err: httpError(http.StatusServiceUnavailable)},
		"the connection breaks":        {err: broken},
		"the container is not there":   {err: httpError(http.StatusNotFound)},
		"the caller does not wait":     {err: context.DeadlineExceeded},
		"Google: too many requests":    {err: &googleapi.Error{Code: http.StatusTooManyRequests}},
		"Azure: an error of the store": {err: &azcore.ResponseError{StatusCode: http.StatusInternalServerError}},
	} {
		t.Run(name, func(t *testing.T) {
			f, bucket := newFake()
			s := store.New(bucket)
			expect.NoError(t, s.Write(t.Context(), "a", content))
			f.deleteError = test.err
			err := s.Delete(t.Context(), "a")
			expect.Equal(t, "works", test.works, err == nil)
			expect.Equal(t, "refused", test.refused, errors.Is(err, archive.ErrRefused))
		})
	}
}

// httpError is an error of the SDK of AWS.
type httpError int

func (e httpError) Error() string       { return http.StatusText(int(e)) }
func (e httpError) HTTPStatusCode() int { return int(e) }

// TestForbiddenIsNotNotFound: gcsblob reports a missing permission as if there were no object. It must not look like one.
func TestForbiddenIsNotNotFound(t *testing.T) {
	f, bucket := newFake()
	f.objects["a"] = content
	f.deleteError = googleForbidden{&googleapi.Error{Code: http.StatusForbidden}}
	if err := store.New(bucket).Delete(t.Context(), "a"); !errors.Is(err, archive.ErrRefused) {
		t.Errorf("error %v", err)
	}
}

// googleForbidden has the code NotFound in the fake store.
type googleForbidden struct{ error }

func (e googleForbidden) Unwrap() []error { return []error{e.error, errNone} }

func TestProbe(t *testing.T) {
	for name, test := range map[string]struct {
		fake                func(*fake)
		write, read, delete bool
		left                int
	}{
		"everything works":           {fake: func(*fake) {}, write: true, read: true, delete: true},
		"the write fails":            {fake: func(f *fake) { f.writeError, f.keep = errLocked, func([]byte) []byte { return nil } }},
		"the store lies":             {fake: func(f *fake) { f.keep = func([]byte) []byte { return []byte("x") } }, write: true, delete: true},
		"the store keeps nothing":    {fake: func(f *fake) { f.keep = func([]byte) []byte { return nil } }, write: true, delete: true},
		"the store does not list it": {fake: func(f *fake) { f.hide = true }, write: true, delete: true},
		"the store does not delete":  {fake: func(f *fake) { f.deleteError = errLocked }, write: true, read: true, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, bucket := newFake()
			test.fake(f)
			p := store.New(bucket).Probe(t.Context())
			expect.Equal(t, "write", test.write, p.Write == nil)
			expect.Equal(t, "read", test.read, p.Read == nil)
			expect.Equal(t, "delete", test.delete, p.Delete == nil)
			expect.Equal(t, "objects left", test.left, len(f.objects))
		})
	}
}
