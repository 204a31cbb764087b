package listwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// answer is what the API server says, read piece by piece: each object is decoded before the next one is read. It implements
// watch.Decoder.
type answer struct {
	body    io.ReadCloser
	json    *jsontext.Decoder
	decoder Decoder
	held    []byte // the object of the event last read
}

func newAnswer(body io.ReadCloser, d Decoder) *answer {
	return &answer{
		body: body, decoder: d,
		json: jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
}

// Close implements watch.Decoder.
func (a *answer) Close() { _ = a.body.Close() }

// Decode implements watch.Decoder: it reads the next event. io.EOF says that the watch has ended, io.ErrUnexpectedEOF
// that it has ended in the middle of an event.
func (a *answer) Decode() (watch.EventType, runtime.Object, error) {
	eventType, data, err := a.event()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "", nil, io.ErrUnexpectedEOF
	case err != nil:
		return "", nil, err
	case data == nil:
		return "", nil, fmt.Errorf("an event %q without an object", eventType)
	}
	object, err := a.about(eventType, data)
	return eventType, object, err
}

// about gives what an event is about: an Object, where a watch stands for a bookmark, or a Status for an error.
func (a *answer) about(of watch.EventType, data []byte) (runtime.Object, error) {
	switch of {
	case watch.Added, watch.Modified:
		return a.decoder.Object(data)
	case watch.Deleted:
		return a.decoder.Deleted(data)
	case watch.Bookmark:
		mark := &metav1.PartialObjectMetadata{}
		return mark, json.Unmarshal(data, mark)
	case watch.Error:
		status := &metav1.Status{}
		return status, json.Unmarshal(data, status)
	}
	return nil, fmt.Errorf("an event of unknown type %q", of)
}

// event reads the parts of an event; the object is valid until the next is read.
func (a *answer) event() (eventType watch.EventType, object []byte, err error) {
	err = a.object(func(field string) error {
		value, err := a.json.ReadValue()
		switch {
		case err != nil:
			return err
		case field == "type":
			return json.Unmarshal(value, &eventType)
		case field == "object":
			object = append(a.held[:0], value...) // what follows it may move the reader's buffer
			a.held = object
		}
		return nil
	})
	return eventType, object, err
}

// page reads a page of a list. The error says that it is not whole.
func (a *answer) page() (*List, error) {
	list := &List{}
	err := a.object(func(field string) error {
		switch field {
		case "metadata":
			data, err := a.json.ReadValue()
			if err != nil {
				return err
			}
			return json.Unmarshal(data, &list.ListMeta)
		case "items":
			return a.items(list)
		}
		return a.json.SkipValue()
	})
	if err == nil {
		err = a.ended()
	}
	switch {
	case err != nil:
	case list.Items == nil:
		err = errNoList
	case list.Continue == "" && ptr.Deref(list.RemainingItemCount, 0) > 0:
		err = errLost
	}
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	return list, nil
}

// items reads the objects of a list; null is an empty one.
func (a *answer) items(list *List) error {
	begin, err := a.json.ReadToken()
	if err != nil {
		return err
	}
	switch begin.Kind() {
	case 'n':
		list.Items = []runtime.Object{}
		return nil
	case '[':
		list.Items = []runtime.Object{}
	default:
		return errNoList
	}
	for a.json.PeekKind() != ']' {
		data, err := a.json.ReadValue()
		if err != nil {
			return err
		}
		o, err := a.decoder.Object(data)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, o)
	}
	_, err = a.json.ReadToken()
	return err
}

// ended fails if there is more to read.
func (a *answer) ended() error {
	switch _, err := a.json.ReadToken(); {
	case err == nil:
		return errMore
	case err == io.EOF:
		return nil
	default:
		return err
	}
}

var (
	errNoObject = errors.New("not a JSON object")
	errNoList   = errors.New("there is no list of items")
	errMore     = errors.New("something follows the list")
	errLost     = errors.New("more is left, and it does not say where")
)

// object reads one object; visit reads the value of each field.
func (a *answer) object(visit func(field string) error) error {
	begin, err := a.json.ReadToken()
	if err != nil {
		return err
	}
	if begin.Kind() != '{' {
		return errNoObject
	}
	for a.json.PeekKind() != '}' {
		name, err := a.json.ReadToken()
		if err != nil {
			return err
		}
		if err := visit(name.String()); err != nil {
			return err
		}
	}
	_, err = a.json.ReadToken()
	return err
}
