// SPDX-License-Identifier: Apache-2.0

package listwatch_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/test/expect"
)

// object is what the decoder of the tests keeps of an object.
type object struct {
	metadata struct{ Name, UID, ResourceVersion string }
	gone     bool
}

func (o *object) DeepCopyObject() runtime.Object { return o }

func (o *object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (o *object) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: "team-a", Name: o.metadata.Name, ResourceVersion: o.metadata.ResourceVersion}
}

// decoder reads objects. An object without a UID is an error.
type decoder struct{}

func (decoder) Object(data []byte) (listwatch.Object, error) {
	var read struct {
		Metadata struct{ Name, UID, ResourceVersion string }
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, err
	}
	if read.Metadata.UID == "" {
		return nil, errors.New("no UID")
	}
	return &object{metadata: read.Metadata}, nil
}

func (d decoder) Deleted(data []byte) (listwatch.Object, error) {
	o, err := d.Object(data)
	if err == nil {
		o.(*object).gone = true
	}
	return o, err
}

const (
	job   = `{"kind":"Job","metadata":{"name":"nightly","uid":"uid-1","resourceVersion":"17"},"status":{"succeeded":1}}`
	other = `{"kind":"Job","metadata":{"name":"hourly","uid":"uid-2","resourceVersion":"18"}}`
)

// event returns one event of a watch.
func event(of watch.EventType, object string) string {
	return `{"type":"` + string(of) + `","object":` + object + "}\n"
}

const (
	bookmark = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"42","creationTimestamp":null}}`
	initial  = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"43","annotations":{"k8s.io/initial-events-end":"true"}}}`
	expired  = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
)

// events reads a watch byte by byte, so that every part of an event is split.
func events(text string) watch.Decoder {
	return listwatch.Events(io.NopCloser(iotest.OneByteReader(strings.NewReader(text))), decoder{})
}

func TestEvents(t *testing.T) {
	tests := map[string]struct {
		text    string
		of      watch.EventType
		name    string // of the object; empty for none
		gone    bool
		version string
		ends    bool // the initial events
	}{
		"added":                {event(watch.Added, job), watch.Added, "nightly", false, "17", false},
		"modified":             {event(watch.Modified, job), watch.Modified, "nightly", false, "17", false},
		"deleted":              {event(watch.Deleted, job), watch.Deleted, "nightly", true, "17", false},
		"a bookmark":           {event(watch.Bookmark, bookmark), watch.Bookmark, "", false, "42", false},
		"the end of a listing": {event(watch.Bookmark, initial), watch.Bookmark, "", false, "43", true},
		"the object first":     {`{"object":` + job + `,"more":[1],"type":"ADDED"}`, watch.Added, "nightly", false, "17", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			of, read, err := events(test.text).Decode()
			expect.NoError(t, err)
			expect.Equal(t, "type", test.of, of)
			accessor, err := meta.Accessor(read)
			expect.NoError(t, err)
			expect.Equal(t, "version", test.version, accessor.GetResourceVersion())
			expect.Equal(t, "ends the initial events", test.ends, accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true")
			o, isObject := read.(*object)
			expect.Equal(t, "is an object", test.name != "", isObject)
			if isObject {
				expect.Equal(t, "name", test.name, o.metadata.Name)
				expect.Equal(t, "is deleted", test.gone, o.gone)
			}
		})
	}
}

func TestErrorEventIsAStatus(t *testing.T) {
	of, object, err := events(event(watch.Error, expired)).Decode()
	status, ok := object.(*metav1.Status)
	if err != nil || !ok {
		t.Fatalf("%T, error %v", object, err)
	}
	expect.Equal(t, "type", watch.Error, of)
	expect.Equal(t, "code", 410, status.Code)
}

func TestWatchEnds(t *testing.T) {
	broken := errors.New("reset")
	tests := map[string]struct {
		body io.Reader
		want error
	}{
		"between events":    {strings.NewReader(event(watch.Added, job)), io.EOF},
		"after white space": {strings.NewReader(event(watch.Added, job) + " \n"), io.EOF},
		"within an event":   {strings.NewReader(event(watch.Added, job) + `{"type":"ADDED","object":{"a"`), io.ErrUnexpectedEOF},
		"within the type":   {strings.NewReader(event(watch.Added, job) + `{"ty`), io.ErrUnexpectedEOF},
		"with a read error": {io.MultiReader(strings.NewReader(event(watch.Added, job)), iotest.ErrReader(broken)), broken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := listwatch.Events(io.NopCloser(test.body), decoder{})
			if _, _, err := d.Decode(); err != nil {
				t.Fatal(err)
			}
			_, _, err := d.Decode()
			// watch.StreamWatcher compares io.EOF and io.ErrUnexpectedEOF without unwrapping.
			if err != test.want && (test.want != broken || !errors.Is(err, broken)) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestEventThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"no object":                    `{"type":"ADDED"}`,
		"no type":                      `{"object":` + job + `}`,
		"unknown type":                 event("RENAMED", job),
		"type is not a string":         `{"type":{},"object":` + job + `}`,
		"not an object":                `[]`,
		"not JSON":                     `{"type":"ADDED","object":nil}`,
		"object is a number":           event(watch.Added, `7`),
		"object is a Status":           event(watch.Modified, expired),
		"deleted object without a UID": event(watch.Deleted, `{"metadata":{}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if of, object, err := events(text).Decode(); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%s %v, error %v", of, object, err)
			}
		})
	}
}

func TestPages(t *testing.T) {
	tests := map[string]struct {
		page  string
		names []string
		next  string
	}{
		"last page":     {`{"metadata":{"resourceVersion":"9"},"items":[` + job + `,` + other + `]}`, []string{"nightly", "hourly"}, ""},
		"first page":    {`{"kind":"JobList","metadata":{"resourceVersion":"9","continue":"more"},"items":[` + other + "]}\n", []string{"hourly"}, "more"},
		"metadata last": {`{"items":[` + other + `],"metadata":{"continue":"more"}}`, []string{"hourly"}, "more"},
		"empty items":   {`{"items":[]}`, nil, ""},
		"null items":    {`{"items":null}`, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := listwatch.Page(test.page, decoder{})
			expect.NoError(t, err)
			var names []string
			for _, o := range list.Items {
				names = append(names, o.(*object).metadata.Name)
			}
			expect.Equal(t, "names", test.names, names)
			expect.Equal(t, "next", test.next, list.Continue)
		})
	}
}

func TestPageThatIsNotWhole(t *testing.T) {
	whole := `{"metadata":{},"items":[` + job + `,` + other + `]}`
	for cut := range whole {
		if _, err := listwatch.Page(whole[:cut], decoder{}); err == nil {
			t.Fatalf("read %s", whole[:cut])
		}
	}
	for name, page := range map[string]string{
		"no items":               `{"metadata":{}}`,
		"a Status":               expired,
		"items is a string":      `{"items":"none"}`,
		"a null item":            `{"items":[null]}`,
		"an item without UID":    `{"items":[{"metadata":{"name":"x"}}]}`,
		"data after the list":    whole + `{}`,
		"missing continue token": `{"metadata":{"remainingItemCount":3},"items":[` + job + `]}`,
	} {
		if _, err := listwatch.Page(page, decoder{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
