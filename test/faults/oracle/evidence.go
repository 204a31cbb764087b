package oracle

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// Evidence is what happened, and what there is to know about how.
type Evidence struct {
	Requests []history.Request
	Log      *history.Log
	Users    []string // as whom Sunset's processes act

	// Sees tells which policies these processes see; nil means all.
	Sees func(policy *history.State) bool
	// Sent is when the process sent a request, where something between it and the server held the request up. Nil means
	// when the server received it.
	Sent func(history.Request) time.Time
	// Window is how long a change of a policy, or of a namespace, may go unnoticed, beside the requests under way. Zero
	// means what is promised: a second.
	Window time.Duration

	Protected  []string           // namespaces that no policy touches; nil means those of a Sunset without flags
	AllowKinds []schema.GroupKind // as in --allow-kinds

	// Paces are the users whose processes have --max-deletions-per-second; none of the others has.
	Paces map[string]Pace

	// Undisturbed are spans in which one of the processes led and nothing disturbed it: what is due goes within Deadline then.
	Undisturbed []Span

	// Unled are spans in which nobody may have led: marks of what nobody saw outlast them.
	Unled []Span
	// Lossy says that a process may have died, or not have seen an answer: only ledgers count exactly then.
	Lossy bool

	// Quiet is since when nothing was disturbed any more, and Ended when the processes were stopped. What was due at Quiet,
	// or for longer than Deadline at Ended, must be gone. Zero asks nothing.
	Quiet, Ended time.Time
	// Deadline is how late a deletion may be once nothing disturbs; zero means ten seconds.
	Deadline time.Duration
}

// Span is a time from one moment to another.
type Span struct{ From, To time.Time }

// meets reports whether two spans have a moment in common.
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
