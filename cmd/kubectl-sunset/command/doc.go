// Package command is the command line of kubectl sunset: one file for each command.
//
// It promises that a command reads nothing but its arguments, its streams, the time it is given, files and, where its
// help says so, a cluster; and that the exit code is 0 when all is well, 1 when it found something, 2 when it could not
// do what it was asked to.
//
// It refuses to write to a cluster, but for the annotations that approve and unmark are about.
package command
