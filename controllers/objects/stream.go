package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// stream reads an answer of the API server piece by piece: each object is observed before the next one is read. It
// implements watch.Decoder.
type stream struct {
	body    io.ReadCloser
	json    *jsontext.Decoder
	decoder *decoder
	held    []byte // the object of the event last read
}

func newStream(body io.ReadCloser, d *decoder) *stream {
	return &stream{
		body: body, decoder: d,
		json: jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
}

// Close implements watch.Decoder.
func (s *stream) Close() { _ = s.body.Close() }

// Decode implements watch.Decoder: it reads the next event. io.EOF says that the watch has ended, io.ErrUnexpectedEOF
// that it has ended in the middle of an event.
func (s *stream) Decode() (watch.EventType, runtime.Object, error) {
	eventType, data, err := s.event()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "", nil, io.ErrUnexpectedEOF
	case err != nil:
		return "", nil, err
	case data == nil:
		return "", nil, fmt.Errorf("an event %q without an object", eventType)
	}
	object, err := s.decoder.event(eventType, data)
	return eventType, object, err
}

// event reads the parts of an event; the object is valid until the next is read.
func (s *stream) event() (eventType watch.EventType, object []byte, err error) {
	err = s.object(func(field string) error {
		value, err := s.json.ReadValue()
		switch {
		case err != nil:
			return err
		case field == "type":
			return json.Unmarshal(value, &eventType)
		case field == "object":
			object = append(s.held[:0], value...) // what follows it may move the reader's buffer
			s.held = object
		}
		return nil
	})
	return eventType, object, err
}

// page reads a page of a list. The error says that it is not whole.
func (s *stream) page() (*observations, error) {
	list := &observations{}
	err := s.object(func(field string) error {
		switch field {
		case "metadata":
			data, err := s.json.ReadValue()
			if err != nil {
				return err
			}
			return json.Unmarshal(data, &list.ListMeta)
		case "items":
			return s.items(list)
		}
		return s.json.SkipValue()
	})
	if err == nil {
		err = s.ended()
	}
	if err == nil && list.Items == nil {
		err = errNoList
	}
	if err != nil {
		return nil, fmt.Errorf("read list of %s: %w", s.decoder.kind.Kind, err)
	}
	return list, nil
}

// items reads the objects of a list; null is an empty one.
func (s *stream) items(list *observations) error {
	begin, err := s.json.ReadToken()
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
	for s.json.PeekKind() != ']' {
		data, err := s.json.ReadValue()
		if err != nil {
			return err
		}
		o, err := s.decoder.object(data)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, o)
	}
	_, err = s.json.ReadToken()
	return err
}

// ended fails if there is more to read.
func (s *stream) ended() error {
	switch _, err := s.json.ReadToken(); {
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
)

// object reads one object; visit reads the value of each field.
func (s *stream) object(visit func(field string) error) error {
	begin, err := s.json.ReadToken()
	if err != nil {
		return err
	}
	if begin.Kind() != '{' {
		return errNoObject
	}
	for s.json.PeekKind() != '}' {
		name, err := s.json.ReadToken()
		if err != nil {
			return err
		}
		if err := visit(name.String()); err != nil {
			return err
		}
	}
	_, err = s.json.ReadToken()
	return err
}
