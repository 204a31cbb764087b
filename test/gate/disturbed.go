package gate

import "time"

// Span is a time from one moment to another.
type Span struct{ From, To time.Time }

// disturbance is a time in which the gate changed what passes. Guarded by Gate.mu.
type disturbance struct {
	from, to time.Time // to is zero while it lasts
	armed    *Armed    // counts only if it has struck; nil for what always counts
}

// disturbs notes that the gate changes what passes from now on, until the disturbance is ended. The caller holds the lock.
func (g *Gate) disturbs(by *Armed) *disturbance {
	d := &disturbance{from: time.Now(), armed: by}
	g.disturbed = append(g.disturbed, d)
	return d
}

// end ends a disturbance. A second call does nothing. The caller holds the gate's lock.
func (d *disturbance) end() {
	if d.to.IsZero() {
		d.to = time.Now()
	}
}

// Disturbed is when the gate changed what passed, or how fast: faults that have struck, watches that were frozen or edited,
// connections that were cut, requests that went elsewhere. What lasts still lasts until the given time.
func (g *Gate) Disturbed(until time.Time) (spans []Span) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.disturbed {
		if d.armed != nil && len(d.armed.struck) == 0 {
			continue
		}
		span := Span{From: d.from, To: d.to}
		if d.armed != nil {
			span = d.armed.spent(span)
		}
		if span.To.IsZero() {
			span.To = until
		}
		spans = append(spans, span)
	}
	return spans
}

// spent narrows the time of a fault to the requests that it struck.
func (a *Armed) spent(s Span) Span {
	last := a.struck[len(a.struck)-1]
	s.From = a.struck[0].At
	if done := a.fault.Times > 0 && len(a.struck) == a.fault.Times; done || !s.To.IsZero() {
		s.To = last.Done // zero while it is under way
	}
	return s
}
