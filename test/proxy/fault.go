// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Moment says when the proxy resets a connection.
type Moment int

// The moments: never, before the proxy forwards the request, or after the API server has answered.
const (
	None Moment = iota
	Before
	After
)

// Fault describes what the proxy does to requests. It applies the effects that are set in this order: Do, Hold, Delay, Drop
// Before, Answer; then it forwards the request; then DoAfter, Drop After, Rewrite.
type Fault struct {
	Match Match
	Skip  int // how many matching requests pass first
	Times int // how many matching requests it affects after that; zero for all until Lift

	Do      func()                   // called before the request is forwarded, for example to kill a process
	Hold    bool                     // hold the request until Armed.Release or the end of the fault
	Late    bool                     // forward a held or delayed request even after its client has disconnected, as a slow network does
	Delay   time.Duration            // before the request is forwarded
	Answer  *Answer                  // instead of the API server's answer
	Drop    Moment                   // when to reset the client's connection
	DoAfter func()                   // called after the API server has answered, before the client receives the answer
	Rewrite func(body []byte) []byte // changes the body of the answer; not for watches, see Proxy.Frames
}

// Answer is an answer that the proxy gives instead of the API server.
type Answer struct {
	Code    int
	Headers map[string]string
	Reason  metav1.StatusReason // of the Status in the body
	Body    []byte              // JSON, instead of a Status; nil for a Status
}

func (a *Answer) write(w http.ResponseWriter) {
	for key, value := range a.Headers {
		w.Header().Set(key, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.Code)
	if a.Body != nil {
		_, _ = w.Write(a.Body) // the client may have disconnected
		return
	}
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Reason: a.Reason, Message: "injected by the test proxy", Code: int32(a.Code),
	})
}

// Armed is a fault that is armed.
type Armed struct {
	proxy   *Proxy
	fault   Fault
	respond func(*http.Request) *Answer // instead of fault.Answer; may be nil
	where   string                      // file and line that armed the fault
	arrived chan struct{}
	release chan struct{}
	once    sync.Once // guards the closing of release
	lasts   *disturbance

	seen    int // guarded by proxy.mu, as is matched
	matched []*Entry
}

// Arm arms a fault. If several faults match a request, all apply, in the order in which they were armed; the first Answer and the
// first Drop win.
func (g *Proxy) Arm(f Fault) *Armed { return g.arm(&Armed{fault: f, where: caller()}) }

// Answers calls respond for every request and sends its answer instead of the API server's. If respond returns nil, the request
// passes.
func (g *Proxy) Answers(respond func(*http.Request) *Answer) *Armed {
	return g.arm(&Armed{respond: respond, where: caller()})
}

// caller returns the file and line that arms a fault.
func caller() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

func (g *Proxy) arm(a *Armed) *Armed {
	a.proxy, a.arrived, a.release = g, make(chan struct{}), make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, a)
	a.lasts = g.disturbs(a)
	return a
}

// match returns the faults that apply to a request, and counts them. The caller holds the lock.
func (g *Proxy) match(p *passage) (struck []*Armed) {
	for _, a := range g.faults {
		if a.respond == nil && a.matches(p.request) {
			a.count(p.entry)
			struck = append(struck, a)
		}
		if a.respond != nil {
			struck = append(struck, a)
		}
	}
	return struck
}

func (a *Armed) matches(r *http.Request) bool {
	if !a.fault.Match.meets(r) {
		return false
	}
	a.seen++
	return a.seen > a.fault.Skip && (a.fault.Times == 0 || len(a.matched) < a.fault.Times)
}

func (a *Armed) count(e *Entry) {
	if a.matched = append(a.matched, e); len(a.matched) == 1 {
		close(a.arrived)
	}
}

// answer returns the fault's answer to a request, which replaces the API server's; nil for none.
func (a *Armed) answer(p *passage) *Answer {
	if a.respond == nil {
		return a.fault.Answer
	}
	answer := a.respond(p.request)
	if answer != nil {
		a.proxy.mu.Lock()
		defer a.proxy.mu.Unlock()
		a.count(p.entry)
	}
	return answer
}

// Fired returns how many requests the fault has affected so far.
func (a *Armed) Fired() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return len(a.matched)
}

// Matched returns the requests that the fault has affected so far, in order of arrival.
func (a *Armed) Matched() []Entry {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return copied(a.matched)
}

// Where returns the file and line that armed the fault.
func (a *Armed) Where() string { return a.where }

// Arrived returns a channel that is closed when the fault affects its first request.
func (a *Armed) Arrived() <-chan struct{} { return a.arrived }

// Release forwards the held requests and stops holding new ones. Other effects continue.
func (a *Armed) Release() { a.once.Do(func() { close(a.release) }) }

// Lift ends the fault and releases the requests that it holds. A second call does nothing.
func (a *Armed) Lift() {
	a.proxy.mu.Lock()
	a.proxy.faults = without(a.proxy.faults, a)
	a.lasts.end()
	a.proxy.mu.Unlock()
	a.Release()
}

// applyFaults applies faults before the request is forwarded. It returns the answer of a fault, if there is one, and whether
// the request may pass.
func (p *passage) applyFaults() (answer *Answer, pass bool) {
	for _, a := range p.struck {
		if a.fault.Late {
			p.outlive()
		}
		if !p.applyFault(a) {
			return nil, false
		}
		if answer == nil {
			answer = a.answer(p)
		}
	}
	return answer, true
}

// applyFault applies one fault to a request and reports whether the request still passes.
func (p *passage) applyFault(a *Armed) bool {
	if a.fault.Do != nil {
		a.fault.Do()
	}
	if a.fault.Hold && !await(p, a.release) {
		return false
	}
	if a.fault.Delay > 0 {
		timer := time.NewTimer(a.fault.Delay)
		defer timer.Stop()
		if !await(p, timer.C) {
			return false
		}
	}
	return a.fault.Drop != Before
}

// applyAfter applies the faults to a request that the API server has answered, and reports whether the answer is lost.
func (p *passage) applyAfter() (lost bool) {
	for _, a := range p.struck {
		if a.fault.DoAfter != nil {
			a.fault.DoAfter()
		}
	}
	return slices.ContainsFunc(p.struck, func(a *Armed) bool { return a.fault.Drop == After })
}
