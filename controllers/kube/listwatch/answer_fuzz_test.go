// SPDX-License-Identifier: Apache-2.0

package listwatch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
)

// FuzzPage compares a list that is read piece by piece with a list that is read whole. A page is accepted only if the data is
// one whole list, and it must have the same objects. If the data is cut off anywhere, the page is an error.
func FuzzPage(f *testing.F) {
	for _, data := range []string{
		`{"kind":"List","metadata":{"resourceVersion":"7","continue":""},"items":[{"metadata":{"name":"a","uid":"u"}},{"metadata":{"uid":"v"}}]}`,
		`{"items":[]}`, `{"items":null}`, `{}`, `[]`, `{"items":{}}`, `{"items":[]}{"items":[]}`, `{"items":[],"items":[{"metadata":{"uid":"u"}}]}`,
		`{"items":[{"metadata":{"uid":"u"}},null]}`, `{"metadata":{"continue":"next"},"items":[{"metadata":{"uid":"u"}}`, `{"metadata":7,"items":[]}`,
		"{\"items\":[]}\n\n ", `{"Items":[{"metadata":{"uid":"u"}}]}`, `{"items":[{"metadata":{"uid":"\ud800"}}]}`, `{"items":[]} x`,
	} {
		f.Add(data, 0)
		f.Add(data, len(data)/2)
	}
	f.Fuzz(func(t *testing.T, data string, cut int) {
		page, err := listwatch.Page(data, decoder{})
		if err != nil {
			return
		}
		var whole map[string]json.RawMessage
		if json.Unmarshal([]byte(data), &whole) != nil {
			t.Fatalf("%q was accepted as a list", data)
		}
		var items []json.RawMessage
		if json.Unmarshal(whole["items"], &items) != nil || len(items) != len(page.Items) {
			t.Fatalf("%q: %d objects, want %d", data, len(page.Items), len(items))
		}
		for i, item := range items {
			want, err := decoder{}.Object(item)
			if err != nil || !cmp.Equal(want.(*object).metadata, page.Items[i].(*object).metadata) {
				t.Errorf("object %d is %+v, want %s", i, page.Items[i], item)
			}
		}
		if text := bytes.TrimSpace([]byte(data)); cut > 0 && cut < len(text) {
			if half, err := listwatch.Page(string(text[:cut]), decoder{}); err == nil {
				t.Errorf("%q: the first %d bytes were accepted as a list of %d objects", data, cut, len(half.Items))
			}
		}
	})
}

// FuzzEvents reads any data as a watch: it returns each whole event up to the first incomplete one, and then an error or the end.
func FuzzEvents(f *testing.F) {
	for _, data := range []string{
		`{"type":"ADDED","object":{"metadata":{"uid":"u","resourceVersion":"7"}}}` + "\n" + `{"type":"DELETED","object":{"metadata":{"uid":"u"}}}`,
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`, `{"type":"ERROR","object":{"kind":"Status","code":410}}`,
		`{"type":"ADDED"}`, `{"object":{"metadata":{"uid":"u"}}}`, `{"type":"ADDED","object":null}`, `{"type":"FUTURE","object":{}}`, `{"type":1,"object":{}}`,
		`{"type":"ADDED","object":{"metadata":{"uid":"u"}}}{"type":"MODIFIED","object":{"meta`, `{"object":{"metadata":{"uid":"u"}},"type":"MODIFIED","other":[1]}`,
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events := listwatch.Events(io.NopCloser(bytes.NewReader(data)), decoder{})
		plain := json.NewDecoder(bytes.NewReader(data))
		for {
			kind, o, err := events.Decode()
			if err != nil {
				if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && plain.More() {
					t.Errorf("the watch ended before the end of the data: %q", data)
				}
				return
			}
			var want struct {
				Type   watch.EventType `json:"type"`
				Object json.RawMessage `json:"object"`
			}
			if err := plain.Decode(&want); err != nil {
				return // encoding/json rejects text that is not UTF-8, and ignores the case of field names
			}
			if kind != want.Type || !isSame(kind, o, want.Object) {
				t.Errorf("event %s %+v, want %s %s", kind, o, want.Type, want.Object)
			}
		}
	})
}

// isSame reports whether an object of an event is equal to its JSON. It does not compare bookmarks and errors, which client-go
// decodes.
func isSame(kind watch.EventType, o runtime.Object, data []byte) bool {
	read, ok := o.(*object)
	if !ok {
		return kind == watch.Bookmark || kind == watch.Error
	}
	want, err := decoder{}.Object(data)
	return err == nil && read.gone == (kind == watch.Deleted) && cmp.Equal(read.metadata, want.(*object).metadata)
}
