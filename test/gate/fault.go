package gate

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
	Late    bool                     // forward what was kept or delayed even when its client has gone, as a slow network does
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

func (a *Answer) write(w http.ResponseWriter) {
	for key, value := range a.Headers {
		w.Header().Set(key, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.Code)
	if a.Body != nil {
		_, _ = w.Write(a.Body) // the client may have gone
		return
	}
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Reason: a.Reason, Message: "said the gate", Code: int32(a.Code),
	})
}

// Armed is a fault at work.
type Armed struct {
	gate    *Gate
	fault   Fault
	respond func(*http.Request) *Answer // instead of fault.Answer; nil for none
	where   string                      // it was armed
	arrived chan struct{}
	release chan struct{}
	once    sync.Once // closes release
	lasts   *disturbance

	seen   int // guarded by gate.mu, as is what follows
	struck []*Entry
}

// Arm lets a fault strike from now on. Of several that match a request all do, in the order in which they were armed;
// the first Answer, and the first Drop, are the ones that count.
func (g *Gate) Arm(f Fault) *Armed { return g.arm(&Armed{fault: f, where: caller()}) }

// Answers lets respond answer in the API server's place whatever it gives an answer for; nil passes.
func (g *Gate) Answers(respond func(*http.Request) *Answer) *Armed {
	return g.arm(&Armed{respond: respond, where: caller()})
}

// caller is the file and line from which a fault is armed.
func caller() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

func (g *Gate) arm(a *Armed) *Armed {
	a.gate, a.arrived, a.release = g, make(chan struct{}), make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, a)
	a.lasts = g.disturbs(a)
	return a
}

// strike gives the faults that strike a request, and counts them. Whoever calls it holds the lock.
func (g *Gate) strike(p *passage) (struck []*Armed) {
	for _, a := range g.faults {
		if a.respond == nil && a.strikes(p.request) {
			a.count(p.entry)
			struck = append(struck, a)
		}
		if a.respond != nil {
			struck = append(struck, a)
		}
	}
	return struck
}

func (a *Armed) strikes(r *http.Request) bool {
	if !a.fault.Match.meets(r) {
		return false
	}
	a.seen++
	return a.seen > a.fault.Skip && (a.fault.Times == 0 || len(a.struck) < a.fault.Times)
}

func (a *Armed) count(e *Entry) {
	if a.struck = append(a.struck, e); len(a.struck) == 1 {
		close(a.arrived)
	}
}

// answer is what the fault says to a request in the API server's place; nil for nothing.
func (a *Armed) answer(p *passage) *Answer {
	if a.respond == nil {
		return a.fault.Answer
	}
	answer := a.respond(p.request)
	if answer != nil {
		a.gate.mu.Lock()
		defer a.gate.mu.Unlock()
		a.count(p.entry)
	}
	return answer
}

// Fired is how many requests the fault has struck so far.
func (a *Armed) Fired() int {
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	return len(a.struck)
}

// Struck are the requests that the fault has struck so far, in the order in which they arrived.
func (a *Armed) Struck() []Entry {
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	return copied(a.struck)
}

// Where is the file and line from which it was armed.
func (a *Armed) Where() string { return a.where }

// Arrived is closed when the fault has struck for the first time.
func (a *Armed) Arrived() <-chan struct{} { return a.arrived }

// Release lets go of the requests that are held, and holds no more. Other effects go on.
func (a *Armed) Release() { a.once.Do(func() { close(a.release) }) }

// Lift ends the fault and lets go of what it holds. A second call does nothing.
func (a *Armed) Lift() {
	a.gate.mu.Lock()
	a.gate.faults = without(a.gate.faults, a)
	a.lasts.end()
	a.gate.mu.Unlock()
	a.Release()
}

// trouble is what happens to a request before it is forwarded: it may be answered, or not pass.
func (p *passage) trouble() (answer *Answer, pass bool) {
	for _, a := range p.struck {
		if a.fault.Late {
			p.outlive()
		}
		if !p.suffer(a) {
			return nil, false
		}
		if answer == nil {
			answer = a.answer(p)
		}
	}
	return answer, true
}

// suffer lets one fault have its way with a request, and tells whether the request still passes.
func (p *passage) suffer(a *Armed) bool {
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

// afterwards is what happens to a request that was carried out; true loses the answer.
func (p *passage) afterwards() (lost bool) {
	for _, a := range p.struck {
		if a.fault.DoAfter != nil {
			a.fault.DoAfter()
		}
	}
	return slices.ContainsFunc(p.struck, func(a *Armed) bool { return a.fault.Drop == After })
}
