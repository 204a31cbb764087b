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

// FuzzPage compares a list that is read piece by piece with one that is read whole: it is taken only if it is one, to its last
// byte, with as many objects, and cut off anywhere it is an error.
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
			t.Fatalf("%q is taken for a list", data)
		}
		var items []json.RawMessage
		if json.Unmarshal(whole["items"], &items) != nil || len(items) != len(page.Items) {
			t.Fatalf("of %q %d objects are taken", data, len(page.Items))
		}
		for i, item := range items {
			want, err := decoder{}.Object(item)
			if err != nil || !cmp.Equal(want.(*object).metadata, page.Items[i].(*object).metadata) {
				t.Errorf("object %d is %+v, and %s in the list", i, page.Items[i], item)
			}
		}
		if text := bytes.TrimSpace([]byte(data)); cut > 0 && cut < len(text) {
			if half, err := listwatch.Page(string(text[:cut]), decoder{}); err == nil {
				t.Errorf("of %q the first %d bytes are taken for a list of %d", data, cut, len(half.Items))
			}
		}
	})
}

// FuzzEvents reads anything as a watch: events that are whole, up to the first that is not, and then an error or the end.
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
					t.Errorf("the watch ends before its end: %q", data)
				}
				return
			}
			var want struct {
				Type   watch.EventType `json:"type"`
				Object json.RawMessage `json:"object"`
			}
			if err := plain.Decode(&want); err != nil {
				return // text that is no UTF-8, or fields that encoding/json takes for these
			}
			if kind != want.Type || !isSame(kind, o, want.Object) {
				t.Errorf("%s %+v is read, and %s %s is there", kind, o, want.Type, want.Object)
			}
		}
	})
}

// isSame compares an object of an event with the JSON of it; what bookmarks and errors say is client-go's.
func isSame(kind watch.EventType, o runtime.Object, data []byte) bool {
	read, ok := o.(*object)
	if !ok {
		return kind == watch.Bookmark || kind == watch.Error
	}
	want, err := decoder{}.Object(data)
	return err == nil && read.gone == (kind == watch.Deleted) && cmp.Equal(read.metadata, want.(*object).metadata)
}
