// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// Evidence is what happened during a run, and how the run was set up.
type Evidence struct {
	Requests []history.Request
	Log      *history.Log
	Users    []string // users that Sunset's processes act as

	// Sees reports which policies these processes see; nil means all.
	Sees func(policy *history.State) bool
	// Sent returns when the process sent a request, if something delayed the request on its way to the server. Nil means the
	// time when the server received it.
	Sent func(history.Request) time.Time
	// Window is how long a change of a policy or a namespace may go unnoticed, in addition to requests in flight. Zero means
	// the promised second.
	Window time.Duration
	// Late returns how late a request may have been noticed that was noticed at a time: Window is longer by that. Nil means never.
	Late func(time.Time) time.Duration

	Protected  []string           // namespaces that no policy applies to; nil means the default
	AllowKinds []schema.GroupKind // as in --allow-kinds

	// Archives are the contents of RetentionArchives, by name.
	Archives map[string]*history.Archive
	// Logs has what containers have logged, as far as that is known.
	Logs map[history.Container]string

	// Paces contains the users whose processes run with --max-deletions-per-second.
	Paces map[string]Pace

	// Undisturbed are periods with a leader and without faults: Sunset must delete due objects within Deadline.
	Undisturbed []Span

	// Unled are periods without a certain leader. If an object was not eligible only in such a period, its mark may stay
	// valid.
	Unled []Span
	// Lossy says that a process may have died or missed an answer: then only ledgers count exactly.
	Lossy bool

	// Quiet is the time of the last fault, and Ended the time when the processes were stopped. Objects that were due at
	// Quiet, or for longer than Deadline at Ended, must be gone. Zero disables this check.
	Quiet, Ended time.Time
	// Deadline is the maximum delay of a deletion without faults; zero means ten seconds.
	Deadline time.Duration
}

// Span is a period from one moment to another.
type Span struct{ From, To time.Time }

// meets reports whether two spans overlap.
func (s Span) meets(o Span) bool { return !s.From.After(o.To) && !o.From.After(s.To) }

const (
	promisedWindow   = time.Second
	promisedDeadline = 10 * time.Second
)

var alwaysProtected = []string{"kube-system", "kube-public", "kube-node-lease", "sunset-system"}

func (e Evidence) withDefaults() Evidence {
	if e.Window == 0 {
		e.Window = promisedWindow
	}
	if e.Late == nil {
		e.Late = func(time.Time) time.Duration { return 0 }
	}
	if e.Deadline == 0 {
		e.Deadline = promisedDeadline
	}
	if e.Protected == nil {
		e.Protected = alwaysProtected
	}
	if e.Sees == nil {
		e.Sees = func(*history.State) bool { return true }
	}
	if e.Sent == nil {
		e.Sent = func(r history.Request) time.Time { return r.Received }
	}
	return e
}
