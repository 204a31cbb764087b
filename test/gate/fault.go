package gate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Moment is when a connection is reset.
type Moment int

// The moments: never, before the request is forwarded, or after the API server has carried it out and answered.
const (
	None Moment = iota
	Before
	After
)

// Fault is what happens to requests. The effects that are set come in this order: Do, Hold, Delay, Drop Before, Answer,
// then the request is forwarded, DoAfter, Drop After, Rewrite.
type Fault struct {
	Match Match
	Skip  int // how many requests that match pass first
	Times int // how many it strikes then; zero for all that come until it is lifted

	Do      func()                   // called before the request is forwarded, for example to kill a process
	Hold    bool                     // keep the request until Armed.Release, or the end of the fault
	Delay   time.Duration            // before it is forwarded
	Answer  *Answer                  // in the API server's place
	Drop    Moment                   // reset the client's connection
	DoAfter func()                   // called when the API server has answered, before its client knows
	Rewrite func(body []byte) []byte // of the answer; not for watches, see Gate.Frames
}

// Answer is what a gate says in the API server's place.
type Answer struct {
	Code    int
	Headers map[string]string
	Reason  metav1.StatusReason // of the Status that is the body
	Body    []byte              // JSON, instead of a Status; nil for none
}

// Armed is a fault at work.
type Armed struct{}

// Fired is how many requests the fault has struck so far.
func (a *Armed) Fired() int { return 0 }

// Arrived is closed when the fault has struck for the first time.
func (a *Armed) Arrived() <-chan struct{} { return nil }

// Release lets go of the requests that are held, and holds no more. Other effects go on.
func (a *Armed) Release() {}

// Lift ends the fault and lets go of what it holds. A second call does nothing.
func (a *Armed) Lift() {}
