// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"regexp"
)

// documentYAML reads one YAML document that begins with first. It splits a list in block style into its items. Any other
// document is one item.
func (r *reader) documentYAML(first []byte) error {
	r.item.Document++
	d := &blocks{reader: r, start: r.lines, list: heldItems{yield: r.yield}}
	if first[len(first)-1] != '\n' {
		d.start++ // the last line of a file has no line end
	}
	line := first
	for number := d.start; len(line) > 0; number++ {
		if err := d.add(line, number); err != nil {
			return err
		}
		var err error
		if line, err = r.line(); err != nil {
			return r.fail(err)
		}
		if isMarker(line) {
			r.giveBack(line)
			break
		}
	}
	return d.close()
}

// blocks splits a document line by line. Its frame is the text outside of the list's items.
type blocks struct {
	*reader
	start  int // line of the document
	frame  []byte
	where  place
	indent int // of the dashes of the list
	item   []byte
	at     int // line of item
	list   heldItems
}

type place int

const (
	outside   place = iota // in the frame
	expecting              // after "items:"
	inside                 // in an item
	behind                 // after the items, in the frame again
)

// itemsKey matches the line that starts a list in block style.
var itemsKey = regexp.MustCompile(`^items:\s*(#.*)?\r?\n?$`)

func (d *blocks) add(line []byte, number int) error {
	significant, indent := measure(line)
	switch {
	case !significant:
		d.keep(line)
		return nil
	case d.where == expecting:
		d.where = outside
		if isDash(line[indent:]) {
			d.where, d.indent = inside, indent
		}
	case d.where == outside && line[0] == 'i' && itemsKey.Match(line):
		d.where = expecting
	}
	if d.where != inside {
		d.frame = append(d.frame, line...)
		return nil
	}
	return d.addToList(line, indent, number)
}

// addToList adds a line to the current item, starts a new item, or ends the list.
func (d *blocks) addToList(line []byte, indent, number int) error {
	starts := indent == d.indent && isDash(line[indent:])
	if indent > d.indent || starts {
		if starts {
			if err := d.flush(); err != nil {
				return err
			}
			d.at = number
		}
		d.item = append(d.item, line...)
		if starts {
			d.item[indent] = ' '
		}
		return nil
	}
	d.where = behind
	d.frame = append(d.frame, line...)
	return d.flush()
}

// keep adds a line that is blank or looks like a comment. In a block scalar such a line is text.
func (d *blocks) keep(line []byte) {
	if d.where == inside {
		d.item = append(d.item, line...)
	} else {
		d.frame = append(d.frame, line...)
	}
}

// flush yields the complete item.
func (d *blocks) flush() error {
	if d.item == nil {
		return nil
	}
	raw := d.item
	d.item = make([]byte, 0, len(raw)+len(raw)/8)
	return d.list.add(d.here(d.at, raw, false), saysKind(raw))
}

// saysKind reports whether an item in block style has a key "kind" at its top level.
func saysKind(raw []byte) bool {
	own := -1
	for line := range bytes.Lines(raw) {
		significant, indent := measure(line)
		if significant && own < 0 {
			own = indent
		}
		if significant && indent == own && bytes.HasPrefix(line[indent:], []byte("kind:")) {
			return true
		}
	}
	return false
}

func (d *blocks) close() error {
	if d.where != inside && d.where != behind {
		return d.yield(d.here(d.start, d.frame, false))
	}
	if err := d.flush(); err != nil {
		return err
	}
	frame := d.here(d.start, d.frame, false)
	value, err := frame.decode()
	if err != nil {
		return err
	}
	var kind typeMeta
	if object, ok := value.(map[string]any); ok {
		kind.APIVersion, _ = object["apiVersion"].(string)
		kind.Kind, _ = object["kind"].(string)
	}
	return d.list.close(kind)
}

// measure returns the indentation of a line, and whether the line is more than blank or comment.
func measure(line []byte) (significant bool, indent int) {
	indent = len(line) - len(bytes.TrimLeft(line, " "))
	rest := bytes.TrimSpace(line[indent:])
	return len(rest) > 0 && rest[0] != '#', indent
}

// isDash reports whether the text starts an element of a list.
func isDash(text []byte) bool {
	return text[0] == '-' && (len(text) == 1 || bytes.IndexByte([]byte(" \t\r\n"), text[1]) >= 0)
}
