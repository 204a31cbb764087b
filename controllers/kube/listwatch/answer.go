// SPDX-License-Identifier: Apache-2.0

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

// answer is a response of the API server. It decodes each object before it reads the next one. It implements watch.Decoder.
type answer struct {
	body    io.ReadCloser
	json    *jsontext.Decoder
	decoder Decoder
	held    []byte // the object of the last event

	begun func(continues string) // called if another page follows; nil for nothing
}

func newAnswer(body io.ReadCloser, d Decoder) *answer {
	return &answer{
		body: body, decoder: d,
		json: jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
}

// Close implements watch.Decoder.
func (a *answer) Close() { _ = a.body.Close() }

// Decode implements watch.Decoder. It reads the next event. It returns io.EOF if the watch has ended, and io.ErrUnexpectedEOF
// if the watch has ended in the middle of an event.
func (a *answer) Decode() (watch.EventType, runtime.Object, error) {
	eventType, data, err := a.event()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "", nil, io.ErrUnexpectedEOF
	case err != nil:
		return "", nil, err
	case data == nil:
		return "", nil, fmt.Errorf("event %q has no object", eventType)
	}
	object, err := a.about(eventType, data)
	return eventType, object, err
}

// about returns the object of an event: an Object, for a bookmark the metadata with its resourceVersion, or for an error a Status.
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
	return nil, fmt.Errorf("unknown event type %q", of)
}

// event reads the next event. The object is valid until the event after it is read.
func (a *answer) event() (eventType watch.EventType, object []byte, err error) {
	err = a.object(func(field string) error {
		value, err := a.json.ReadValue()
		switch {
		case err != nil:
			return err
		case field == "type":
			return json.Unmarshal(value, &eventType)
		case field == "object":
			object = append(a.held[:0], value...) // a copy: later reads may move the reader's buffer
			a.held = object
		}
		return nil
	})
	return eventType, object, err
}

// page reads a page of a list. It returns an error if the page is incomplete.
func (a *answer) page() (*List, error) {
	list := &List{}
	err := a.object(func(field string) error {
		switch field {
		case "metadata":
			data, err := a.json.ReadValue()
			if err != nil {
				return err
			}
			if err := json.Unmarshal(data, &list.ListMeta); err != nil || list.Continue == "" || a.begun == nil {
				return err
			}
			a.begun(list.Continue)
			return nil
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

// items reads the objects of a list; null is an empty list.
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

// ended returns an error if more data follows.
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
	errNoList   = errors.New("the response has no list of items")
	errMore     = errors.New("unexpected data after the list")
	errLost     = errors.New("incomplete list: remainingItemCount is set without a continue token")
)

// object reads one JSON object; visit reads the value of each field.
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
