package load

import (
	"bytes"
	"io"
)

// EachItem gives every item of a file, in order. It stops at the first error, its own or that of yield. Items may be kept
// and decoded by other goroutines.
func EachItem(name string, r io.Reader, yield func(Item) error) error {
	return (&reader{source: newSource(r), item: Item{File: name}, yield: yield}).run()
}

// reader goes through one file.
type reader struct {
	*source
	item  Item // what all items have in common
	yield func(Item) error
}

// run looks at each line between documents, and leaves what starts there to who can read it.
func (r *reader) run() error {
	for {
		line, err := r.line()
		if err != nil {
			return r.fail(err)
		}
		if r.lines <= 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
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

// isBetween reports whether a line outside of any document says nothing: blank, comment, marker or directive.
func isBetween(line, text []byte) bool {
	return len(text) == 0 || text[0] == '#' || line[0] == '%' || isBareMarker(line)
}

// startsJSON tells a JSON object from YAML in flow style, whose keys have no quotes.
func startsJSON(text []byte) bool {
	rest, found := bytes.CutPrefix(text, []byte("{"))
	rest = bytes.TrimSpace(rest)
	return found && (len(rest) == 0 || rest[0] == '"' || rest[0] == '}')
}

// isMarker reports whether the line ends a document: "---" or "..." at its start.
func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0
}

// isBareMarker reports whether the line is a marker with nothing but a comment behind it.
func isBareMarker(line []byte) bool {
	if !isMarker(line) {
		return false
	}
	rest := bytes.TrimSpace(line[3:])
	return len(rest) == 0 || rest[0] == '#'
}

// here is the item that starts at a line.
func (r *reader) here(line int, raw []byte, isJSON bool) Item {
	item := r.item
	item.Line, item.raw, item.isJSON = line, raw, isJSON
	return item
}

func (r *reader) fail(err error) error { return &Error{File: r.item.File, Line: r.lines + 1, Err: err} }

// heldItems holds back items that do not say their kind until their list has said it.
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

// close gives out what was held back, with the kind of the list's elements.
func (l *heldItems) close(kind typeMeta) error {
	for _, item := range l.held {
		item.kind = kind.element()
		if err := l.yield(item); err != nil {
			return err
		}
	}
	return nil
}
