// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of kubectl sunset, with one file for each command.
//
// A command reads its arguments, its streams, the given time, files and, where its help says so, a cluster. Nothing else
// affects it. The exit code is 0 for success, 1 if the command found a problem, and 2 if it could not do its work.
//
// These commands write to a cluster: approve creates an approval; suspend and resume set the mode of policies; hold, unhold and
// unmark change annotations of objects; archive restore creates objects. This writes to an archive: archive compact.
package command
