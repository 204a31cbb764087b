package objects_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sunset-k8s/sunset/controllers/objects"
)

// event is one event of a watch.
func event(of watch.EventType, object string) string {
	return `{"type":"` + string(of) + `","object":` + object + "}\n"
}

const (
	bookmark = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"42","creationTimestamp":null}}`
	initial  = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"43","annotations":{"k8s.io/initial-events-end":"true"}}}`
	expired  = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
)

// events reads a watch byte by byte, so that every part of an event is cut somewhere.
func events(t *testing.T, text string) watch.Decoder {
	t.Helper()
	return decoder(t, jobs, "object.status.succeeded == 1").Events(io.NopCloser(iotest.OneByteReader(strings.NewReader(text))))
}

func TestEvents(t *testing.T) {
	tests := map[string]struct {
		text    string
		of      watch.EventType
		name    string // of the row; empty for none
		facts   int
		version string
		ends    bool // the initial events
	}{
		"added":                {event(watch.Added, job), watch.Added, "nightly", 1, "17", false},
		"modified":             {event(watch.Modified, job), watch.Modified, "nightly", 1, "17", false},
		"deleted":              {event(watch.Deleted, job), watch.Deleted, "nightly", 0, "17", false},
		"a bookmark":           {event(watch.Bookmark, bookmark), watch.Bookmark, "", 0, "42", false},
		"the end of a listing": {event(watch.Bookmark, initial), watch.Bookmark, "", 0, "43", true},
		"the object first":     {`{"object":` + job + `,"more":[1],"type":"ADDED"}`, watch.Added, "nightly", 1, "17", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			of, object, err := events(t, test.text).Decode()
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "type", test.of, of)
			accessor, err := meta.Accessor(object)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "version", test.version, accessor.GetResourceVersion())
			expect(t, "ends the initial events", test.ends, accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true")
			row := objects.RowOf(object)
			expect(t, "is a row", test.name != "", row != nil)
			if row != nil {
				expect(t, "name", test.name, row.Subject().Name)
				expect(t, "facts", test.facts, len(row.Facts()))
			}
		})
	}
}

func TestAnErrorEventIsAStatus(t *testing.T) {
	of, object, err := events(t, event(watch.Error, expired)).Decode()
	status, ok := object.(*metav1.Status)
	if err != nil || !ok {
		t.Fatalf("%T, error %v", object, err)
	}
	expect(t, "type", watch.Error, of)
	expect(t, "code", 410, status.Code)
}

func TestAWatchEnds(t *testing.T) {
	broken := errors.New("reset")
	tests := map[string]struct {
		body io.Reader
		want error
	}{
		"between events":     {strings.NewReader(event(watch.Added, job)), io.EOF},
		"after white space":  {strings.NewReader(event(watch.Added, job) + " \n"), io.EOF},
		"within an event":    {strings.NewReader(event(watch.Added, job) + `{"type":"ADDED","object":{"a"`), io.ErrUnexpectedEOF},
		"within the type":    {strings.NewReader(event(watch.Added, job) + `{"ty`), io.ErrUnexpectedEOF},
		"with a broken line": {io.MultiReader(strings.NewReader(event(watch.Added, job)), iotest.ErrReader(broken)), broken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := decoder(t, jobs).Events(io.NopCloser(test.body))
			if _, _, err := d.Decode(); err != nil {
				t.Fatal(err)
			}
			_, _, err := d.Decode()
			// The reader of a watch compares the two ends without unwrapping.
			if err != test.want && (test.want != broken || !errors.Is(err, broken)) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestAnEventThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"no object":             `{"type":"ADDED"}`,
		"no type":               `{"object":` + job + `}`,
		"of unknown type":       event("RENAMED", job),
		"of a type that is not": `{"type":{},"object":` + job + `}`,
		"not an object":         `[]`,
		"not JSON":              `{"type":"ADDED","object":nil}`,
		"an object that is not": event(watch.Added, `7`),
		"a Status as an object": event(watch.Modified, expired),
		"who was deleted":       event(watch.Deleted, `{"metadata":{}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if of, object, err := events(t, text).Decode(); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%s %v, error %v", of, object, err)
			}
		})
	}
}

func TestPages(t *testing.T) {
	mirror := pod(`,"annotations":{"kubernetes.io/config.mirror":"x"}`)
	other := strings.Replace(pod(""), "web-0", "web-1", 1)
	tests := map[string]struct {
		page  string
		names []string
		next  string
	}{
		"the last":          {`{"metadata":{"resourceVersion":"9"},"items":[` + pod("") + `,` + mirror + `,` + other + `]}`, []string{"web-0", "web-1"}, ""},
		"the first":         {`{"kind":"PodList","metadata":{"resourceVersion":"9","continue":"more"},"items":[` + other + "]}\n", []string{"web-1"}, "more"},
		"metadata last":     {`{"items":[` + other + `],"metadata":{"continue":"more"}}`, []string{"web-1"}, "more"},
		"without items":     {`{"items":[]}`, nil, ""},
		"items that are no": {`{"items":null}`, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			names, next, err := decoder(t, pods, "true").Page(test.page)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "names", test.names, names)
			expect(t, "next", test.next, next)
		})
	}
}

func TestAPageThatIsNotWhole(t *testing.T) {
	whole := `{"metadata":{},"items":[` + pod("") + `,` + pod("") + `]}`
	d := decoder(t, pods, "true")
	for cut := range whole {
		if _, _, err := d.Page(whole[:cut]); err == nil {
			t.Fatalf("read %s", whole[:cut])
		}
	}
	for name, page := range map[string]string{
		"no items":              `{"metadata":{}}`,
		"a Status":              expired,
		"items of another sort": `{"items":"none"}`,
		"a null item":           `{"items":[null]}`,
		"an item without UID":   `{"items":[{"metadata":{"name":"x"}}]}`,
		"something behind it":   whole + `{}`,
	} {
		if _, _, err := d.Page(page); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestNothingIsReadAfterTheEndOfASource: whoever still reads when it ends gets an error, and reads nothing half.
func TestNothingIsReadAfterTheEndOfASource(t *testing.T) {
	d := decoder(t, jobs, "object.status.succeeded == 1")
	began, done := make(chan struct{}), make(chan error)
	go func() {
		for n := 0; ; n++ {
			row, err := d.Object(job)
			if err != nil {
				done <- err
				return
			}
			if !row.Facts()[0].Eligible {
				done <- fmt.Errorf("facts %+v", row.Facts()[0])
				return
			}
			if n == 10 {
				close(began)
			}
		}
	}()
	<-began
	d.Close()
	if err := <-done; !strings.Contains(err.Error(), "ended") {
		t.Error(err)
	}
	if row, err := d.Object(job); err == nil {
		t.Errorf("read %v", row.Subject())
	}
	d.Close()
}
