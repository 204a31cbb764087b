package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// Error is a place in a file that cannot be read.
type Error struct {
	File string
	Line int // from 1; that of the object when the place within it is not known
	Err  error
}

// Error is FILE:LINE: and what is wrong.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap gives what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// lineOf finds the line in the messages of the YAML library, which has no other way to say it.
var lineOf = regexp.MustCompile(`line (\d+):`)

// fail places an error in the item's file.
func (i Item) fail(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := &Error{File: i.File, Line: i.Line}
	if match := lineOf.FindStringSubmatchIndex(text); match != nil && match[0] == 0 {
		line, _ := strconv.Atoi(text[match[2]:match[3]])
		at.Line += line - 1
		text = strings.TrimSpace(text[match[1]:])
	}
	at.Err = errors.New(text)
	return at
}

// shiftLine moves the line that a message of the YAML library names.
func shiftLine(text string, by int) string {
	return lineOf.ReplaceAllStringFunc(text, func(found string) string {
		line, _ := strconv.Atoi(lineOf.FindStringSubmatch(found)[1])
		return fmt.Sprintf("line %d:", line+by)
	})
}

func asTypeError(err error, target **yaml.TypeError) bool { return errors.As(err, target) }
