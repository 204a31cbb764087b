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

// stream reads an answer of the API server piece by piece: each object is observed before the next is read. It implements
// watch.Decoder.
type stream struct {
	body    io.ReadCloser
	json    *jsontext.Decoder
	decoder *decoder
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
	var e event
	err := s.object(func(field string) error {
		switch field {
		case "type":
			token, err := s.json.ReadToken()
			if err == nil {
				e.kind = watch.EventType(token.String())
			}
			return err
		case "object":
			data, err := s.json.ReadValue()
			if err == nil {
				e.object, err = s.decoder.event(e.kind, data)
			}
			return err
		}
		return s.json.SkipValue()
	})
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "", nil, io.ErrUnexpectedEOF
	case err != nil:
		return "", nil, err
	}
	return e.kind, e.object, e.check()
}

// event is one event of a watch.
type event struct {
	kind   watch.EventType
	object runtime.Object
}

func (e event) check() error {
	switch e.kind {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error:
	default:
		return fmt.Errorf("an event of unknown type %q", e.kind)
	}
	if e.object == nil {
		return fmt.Errorf("an event %s without an object", e.kind)
	}
	return nil
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
	if err != nil {
		return nil, fmt.Errorf("read list of %s: %w", s.decoder.kind.Kind, err)
	}
	return list, nil
}

// items reads the objects of a list; null is an empty one.
func (s *stream) items(list *observations) error {
	if s.json.PeekKind() != '[' {
		return s.json.SkipValue()
	}
	if _, err := s.json.ReadToken(); err != nil {
		return err
	}
	for s.json.PeekKind() != ']' {
		data, err := s.json.ReadValue()
		if err != nil {
			return err
		}
		o, err := s.decoder.decode(data)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, o)
	}
	_, err := s.json.ReadToken()
	return err
}

var errNoObject = errors.New("not a JSON object")

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
