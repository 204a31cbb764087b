package load

import (
	"fmt"
	"regexp"
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
func (i Item) fail(err error) error { return &Error{File: i.File, Line: i.Line, Err: err} }
