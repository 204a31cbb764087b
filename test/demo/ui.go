// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"time"
)

// ui is the output of the demo. Its Writer receives lines of progress within a step.
type ui interface {
	io.Writer
	// begin announces a step that takes a while; call done with the result.
	begin(name string) (done func(error))
	// say prints a command with its text permanently.
	say(command, text string)
	// show draws a frame.
	show(frame)
	// conclude prints the last frame and the summary permanently.
	conclude(frame, table)
	// close restores the terminal.
	close()
}

// took formats a step's duration.
func took(since time.Time) string { return time.Since(since).Round(100 * time.Millisecond).String() }
