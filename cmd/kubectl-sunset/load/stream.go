// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// documentJSON reads consecutive JSON documents until other text follows. It reads a list item by item.
func (r *reader) documentJSON() error {
	d := &stream{reader: r, decoder: json.NewDecoder(r.source)}
	for {
		r.item.Document++
		if err := d.document(); err != nil {
			return err
		}
		if !d.decoder.More() || !d.atObject() {
			break
		}
	}
	r.giveBack(d.buffered())
	return nil
}

// stream splits JSON token by token. Its frame is the text outside of the list's items.
type stream struct {
	*reader
	decoder *json.Decoder
	start   int // line of the document
	frame   []byte
	listed  bool
	list    heldItems
}

// buffered returns the bytes that the decoder has read from the source but not decoded. They are valid until the decoder reads
// on.
func (d *stream) buffered() []byte {
	var view view
	_, _ = io.Copy(&view, d.decoder.Buffered()) // a bytes.Reader, which passes all its bytes without a copy
	return view
}

// view is a writer that keeps a reference to the last bytes written.
type view []byte

func (v *view) Write(p []byte) (int, error) {
	*v = p
	return len(p), nil
}

// atObject reports whether the next value is an object. Call it only after the decoder's More.
func (d *stream) atObject() bool {
	next := d.buffered()
	return len(next) > 0 && next[0] == '{'
}

// line returns the line of the next value.
func (d *stream) line() int {
	next := d.buffered()
	return d.lines - bytes.Count(bytes.TrimLeft(next, " \t\r\n,:"), newline) + 1
}

func (d *stream) document() error {
	d.start, d.frame, d.listed = d.line(), []byte{'{'}, false
	d.list = heldItems{yield: d.yield}
	if _, err := d.decoder.Token(); err != nil { // {
		return d.wrap(err)
	}
	for d.decoder.More() {
		if err := d.field(); err != nil {
			return err
		}
	}
	if _, err := d.decoder.Token(); err != nil { // }
		return d.wrap(err)
	}
	if !d.listed {
		return d.yield(d.here(d.start, append(d.frame, '}'), true))
	}
	kind, err := d.kind()
	if err != nil {
		return d.wrap(err)
	}
	return d.list.close(kind)
}

// field reads a field of the document.
func (d *stream) field() error {
	key, err := d.decoder.Token()
	if err != nil {
		return d.wrap(err)
	}
	if key == "items" {
		return d.items()
	}
	var value json.RawMessage
	if err := d.decoder.Decode(&value); err != nil {
		return d.wrap(err)
	}
	if len(d.frame) > 1 {
		d.frame = append(d.frame, ',')
	}
	name, _ := json.Marshal(key) // a string
	d.frame = fmt.Appendf(d.frame, "%s:%s", name, value)
	return nil
}

// items reads the items of a list one by one. As in the API machinery, any object with items is a list.
func (d *stream) items() error {
	d.listed = true
	first, err := d.decoder.Token()
	if err != nil {
		return d.wrap(err)
	}
	if first == nil {
		return nil
	}
	if first != json.Delim('[') {
		return d.wrap(errors.New("items is not a list"))
	}
	kind, _ := d.kind() // document reports errors at the end
	for d.decoder.More() {
		if err := d.element(kind.element()); err != nil {
			return err
		}
	}
	if _, err := d.decoder.Token(); err != nil { // ]
		return d.wrap(err)
	}
	return nil
}

func (d *stream) element(kind typeMeta) error {
	line := d.line()
	var raw json.RawMessage
	if err := d.decoder.Decode(&raw); err != nil {
		return d.wrap(err)
	}
	item := d.here(line, raw, true)
	item.kind = kind
	return d.list.add(item, bytes.Contains(raw, []byte(`"apiVersion"`)))
}

// kind returns the kind of the document as far as it is known yet.
func (d *stream) kind() (kind typeMeta, err error) {
	err = json.Unmarshal(append(d.frame, '}'), &kind)
	return kind, err
}

// wrap adds a position to an error: the decoder's line, and the line where the document starts.
func (d *stream) wrap(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("unexpected end of JSON input")
	}
	return &Error{File: d.item.File, Line: d.line(), Err: fmt.Errorf("JSON document that starts at line %d: %w", d.start, err)}
}
