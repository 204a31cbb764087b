// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// EachItem yields every item of a file, in order. It stops at the first error of reading or of yield. The caller may keep the
// items and decode them in other goroutines. Like kubectl, it reads UTF-16 if the file starts with a byte order mark.
func EachItem(name string, r io.Reader, yield func(Item) error) error {
	text := transform.NewReader(r, unicode.BOMOverride(unicode.UTF8.NewDecoder()))
	return (&reader{source: newSource(text), item: Item{File: name}, yield: yield}).run()
}

// reader reads one file.
type reader struct {
	*source
	item  Item // the fields that all items share
	yield func(Item) error
}

// run skips the lines between documents and passes each document to the reader of its format.
func (r *reader) run() error {
	for {
		line, err := r.line()
		if err != nil {
			return r.fail(err)
		}
		text := bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			return nil
		case isBetween(line, text):
			continue
		case startsJSON(text):
			r.giveBack(line)
			err = r.documentJSON()
		default:
			err = r.documentYAML(line)
		}
		if err != nil {
			return err
		}
	}
}

// isBetween reports whether a line outside of a document has no content: it is blank, a comment, a marker or a directive.
func isBetween(line, text []byte) bool {
	return len(text) == 0 || text[0] == '#' || line[0] == '%' || isBareMarker(line)
}

// startsJSON distinguishes a JSON object from YAML in flow style, whose keys have no quotes.
func startsJSON(text []byte) bool {
	rest, found := bytes.CutPrefix(text, []byte("{"))
	rest = bytes.TrimSpace(rest)
	return found && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}')
}

// isMarker reports whether the line ends a document: it starts with "---" or "...".
func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0
}

// isBareMarker reports whether the line is a marker followed by at most a comment.
func isBareMarker(line []byte) bool {
	if !isMarker(line) {
		return false
	}
	rest := bytes.TrimSpace(line[3:])
	return len(rest) == 0 || rest[0] == '#'
}

// here returns the item that starts at a line.
func (r *reader) here(line int, raw []byte, isJSON bool) Item {
	item := r.item
	item.Line, item.raw, item.isJSON = line, raw, isJSON
	return item
}

func (r *reader) fail(err error) error { return &Error{File: r.item.File, Line: r.lines + 1, Err: err} }

// heldItems holds back items without a kind until the kind of their list is known.
type heldItems struct {
	held  []Item
	yield func(Item) error
}

func (l *heldItems) add(item Item, hasKind bool) error {
	if hasKind || item.kind != (typeMeta{}) {
		return l.yield(item)
	}
	l.held = append(l.held, item)
	return nil
}

// close yields the held items with the kind of the list's elements.
func (l *heldItems) close(kind typeMeta) error {
	for _, item := range l.held {
		item.kind = kind.element()
		if err := l.yield(item); err != nil {
			return err
		}
	}
	return nil
}
