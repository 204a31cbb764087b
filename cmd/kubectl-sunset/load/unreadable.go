package load

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v2"
)

// mostLines bounds the documents in which the line of an error is looked for. Reading every beginning of a document takes
// the square of its length.
const mostLines = 2000

// unreadable is an error of the YAML library with the line that is wrong, and what to write there. The library names the
// line where it notices, or where the block around begins.
func (i Item) unreadable(err error) error {
	var value any
	if yaml.Unmarshal(i.raw, &value) == nil {
		return i.fail(err) // it is YAML with something in it that is not JSON
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := &Error{File: i.File, Line: i.Line}
	if match := lineOf.FindStringSubmatchIndex(text); match != nil && match[0] == 0 {
		fmt.Sscan(text[match[2]:match[3]], &at.Line)
		at.Line += i.Line - 1
		text = strings.TrimSpace(text[match[1]:])
	}
	if lines := bytes.SplitAfter(i.raw, newline); len(lines) <= mostLines {
		first := firstUnreadable(lines)
		at.Line = i.Line + first
		if isTemplate.Match(lines[first]) {
			text = "a template is not YAML (render it first, such as helm template CHART | kubectl sunset validate -f -)"
		} else if hint := hintFor(text, lines, first); hint != "" {
			text += " (" + hint + ")"
		}
	}
	at.Err = errors.New(text)
	return at
}

// firstUnreadable is the line after the longest beginning that can be read, from 0.
func firstUnreadable(lines [][]byte) int {
	n := len(lines) - 1
	for ; n > 0; n-- {
		var value any
		if yaml.Unmarshal(bytes.Join(lines[:n], nil), &value) == nil {
			break
		}
	}
	return n
}

var (
	entry      = regexp.MustCompile(`^[\s-]*[\w.-]+:\s+(\S.*?)\s*$`)
	inBraces   = regexp.MustCompile(`^\{\s*[\w.-]+:\s.*\}$`) // fields
	isTemplate = regexp.MustCompile(`^[\s-]*([\w.-]+:\s+)?\{\{`)
	unspaced   = regexp.MustCompile(`^[\s-]*(\w+):\S`)
)

// hintFor says what to write in a line that cannot be read.
func hintFor(text string, lines [][]byte, n int) string {
	line := strings.TrimRight(string(lines[n]), "\r\n")
	indentation := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if strings.Contains(indentation, "\t") {
		return "the line is indented with a tab; write spaces"
	}
	if value := entry.FindStringSubmatch(line); value != nil {
		if hint := hintForValue(value[1], text); hint != "" {
			return hint
		}
	} else if key := unspaced.FindStringSubmatch(line); key != nil {
		return fmt.Sprintf("write a space behind %s:", key[1])
	}
	return indentationHint(lines, n, len(indentation))
}

func hintForValue(value, text string) string {
	quotes := "write the whole value in quotes, or on a line of its own below >-"
	switch {
	case (value[0] == '"' || value[0] == '\'') && strings.Contains(text, "end of stream"):
		return "the quote that begins here is not closed"
	case (value[0] == '{' || value[0] == '[') && !strings.ContainsAny(value[len(value)-1:], "}]"):
		return "the bracket that begins here is not closed"
	case inBraces.MatchString(value):
		return "between { and } a value that has a bracket, a brace or a comma in it stands in quotes"
	case strings.ContainsAny(value[:1], "'\"{["):
		return fmt.Sprintf("a value that begins with %c ends where that is closed; %s", value[0], quotes)
	case strings.ContainsAny(value[:1], "!&*@%`|>"):
		return fmt.Sprintf("a value cannot begin with %c; %s", value[0], quotes)
	case strings.Contains(value, ": "):
		return "a value that has a colon and a space in it would be another field; " + quotes
	}
	return ""
}

// indentationHint compares a line with those above that it could stand beside.
func indentationHint(lines [][]byte, n, indent int) string {
	for above := n - 1; above >= 0; above-- {
		significant, other := measure(lines[above])
		if !significant {
			continue
		}
		if key := unspaced.FindSubmatch(lines[above]); key != nil && !entry.Match(lines[above]) {
			return fmt.Sprintf("write a space behind %s: in the line above", key[1])
		}
		if isDash(lines[above][other:]) {
			other += 2
		}
		switch value := entry.FindSubmatch(lines[above]); {
		case value != nil && indent <= other && bytes.ContainsAny(value[1][:1], "|>"):
			return fmt.Sprintf("text below %s is indented deeper than its field", value[1])
		case other == indent:
			return ""
		}
		return fmt.Sprintf("the line is indented by %d spaces, the one above by %d", indent, other)
	}
	return ""
}
