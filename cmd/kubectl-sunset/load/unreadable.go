// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// mostLines is the largest number of lines of a document in which firstUnreadable searches. The search takes quadratic time.
const mostLines = 2000

// unreadable adds the wrong line and a hint to an error of the YAML library. The library reports the line where it notices the
// error, or where the surrounding block begins.
func (i Item) unreadable(err error) error {
	text, isYAML := strings.CutPrefix(err.Error(), "yaml: ")
	if !isYAML {
		return i.fail(err) // it is valid YAML with a value that JSON does not support
	}
	at := &Error{File: i.File, Line: i.Line}
	if match := lineOf.FindStringSubmatchIndex(text); match != nil && match[0] == 0 {
		_, _ = fmt.Sscan(text[match[2]:match[3]], &at.Line) // digits
		at.Line += i.Line - 1
		text = strings.TrimSpace(text[match[1]:])
	}
	if lines := bytes.SplitAfter(i.raw, newline); len(lines) <= mostLines {
		first := firstUnreadable(lines)
		at.Line = i.Line + first
		if isTemplate.Match(lines[first]) {
			text = "a template is not YAML (render it first: helm template CHART | kubectl sunset validate -f -)"
		} else if hint := hintFor(text, lines, first); hint != "" {
			text += " (" + hint + ")"
		}
	}
	at.Err = errors.New(text)
	return at
}

// firstUnreadable returns the index of the line after the longest prefix that can be parsed.
func firstUnreadable(lines [][]byte) int {
	n := len(lines) - 1
	for ; n > 0; n-- {
		if _, err := yaml.YAMLToJSON(bytes.Join(lines[:n], nil)); err == nil {
			break
		}
	}
	return n
}

var (
	entry      = regexp.MustCompile(`^[\s-]*[\w.-]+:\s+(\S.*?)\s*$`)
	inBraces   = regexp.MustCompile(`^\{\s*[\w.-]+:\s.*\}$`) // a mapping in flow style
	isTemplate = regexp.MustCompile(`^[\s-]*([\w.-]+:\s+)?\{\{`)
	unspaced   = regexp.MustCompile(`^[\s-]*(\w+):\S`)
)

// hintFor suggests a fix for a line that cannot be parsed.
func hintFor(text string, lines [][]byte, n int) string {
	line := strings.TrimRight(string(lines[n]), "\r\n")
	indentation := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if strings.Contains(indentation, "\t") {
		return "the line is indented with a tab; use spaces"
	}
	if value := entry.FindStringSubmatch(line); value != nil {
		if hint := hintForValue(value[1], text); hint != "" {
			return hint
		}
	} else if key := unspaced.FindStringSubmatch(line); key != nil {
		return fmt.Sprintf("write a space after %s:", key[1])
	}
	return indentationHint(lines, n, len(indentation))
}

func hintForValue(value, text string) string {
	quotes := "put the whole value in quotes, or on its own line below >-"
	switch {
	case (value[0] == '"' || value[0] == '\'') && strings.Contains(text, "end of stream"):
		return "the closing quote is missing"
	case (value[0] == '{' || value[0] == '[') && !strings.ContainsAny(value[len(value)-1:], "}]"):
		return "the closing bracket is missing"
	case inBraces.MatchString(value):
		return "between { and }, put a value that contains a bracket, a brace or a comma in quotes"
	case strings.ContainsAny(value[:1], "'\"{["):
		return fmt.Sprintf("a value that begins with %c ends at the closing quote or bracket; %s", value[0], quotes)
	case strings.ContainsAny(value[:1], "!&*@%`|>"):
		return fmt.Sprintf("a value cannot begin with %c; %s", value[0], quotes)
	case strings.Contains(value, ": "):
		return "YAML reads a colon and a space as the start of another field; " + quotes
	}
	return ""
}

// indentationHint compares the indentation of a line with the lines above.
func indentationHint(lines [][]byte, n, indent int) string {
	for above := n - 1; above >= 0; above-- {
		significant, other := measure(lines[above])
		if !significant {
			continue
		}
		if key := unspaced.FindSubmatch(lines[above]); key != nil && !entry.Match(lines[above]) {
			return fmt.Sprintf("write a space after %s: in the line above", key[1])
		}
		if isDash(lines[above][other:]) {
			other += 2
		}
		switch value := entry.FindSubmatch(lines[above]); {
		case value != nil && indent <= other && bytes.ContainsAny(value[1][:1], "|>"):
			return fmt.Sprintf("indent the text below %s deeper than its field", value[1])
		case other == indent:
			return ""
		}
		return fmt.Sprintf("the line is indented by %d spaces, the one above by %d", indent, other)
	}
	return ""
}
