package main

import (
	"io"
	"time"
)

// ui is where the demo shows itself. Its Writer takes lines of progress within a step.
type ui interface {
	io.Writer
	// begin tells of a step that takes a while; the returned function says how it ended.
	begin(name string) (done func(error))
	// say prints a command and what goes with it, for good.
	say(command, text string)
	// show makes a frame the picture of now.
	show(frame)
	// conclude prints the last picture and the summary, for good.
	conclude(frame, table)
	// close leaves the terminal as it was found.
	close()
}

// took is how a step's time is written.
func took(since time.Time) string { return time.Since(since).Round(100 * time.Millisecond).String() }
