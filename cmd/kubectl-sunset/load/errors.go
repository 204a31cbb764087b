// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"regexp"
)

// Error is an error at a position in a file.
type Error struct {
	File string
	Line int // from 1; the line of the object if the exact line is unknown
	Err  error
}

// Error returns FILE:LINE: followed by the cause.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// lineOf finds the line number in messages of the YAML library, which has no field for it.
var lineOf = regexp.MustCompile(`line (\d+):`)

// fail adds the item's file and line to an error.
func (i Item) fail(err error) error { return &Error{File: i.File, Line: i.Line, Err: err} }
