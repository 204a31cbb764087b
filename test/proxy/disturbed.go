// SPDX-License-Identifier: Apache-2.0

package proxy

import "time"

// Span is a time from one moment to another.
type Span struct{ From, To time.Time }

// disturbance is a period in which the proxy changed traffic. Guarded by Proxy.mu.
type disturbance struct {
	from, to time.Time // to is zero while it lasts
	armed    *Armed    // the fault that caused it, which counts once it has fired; nil if the disturbance always counts
}

// disturbs records that the proxy changes traffic from now on, until the caller ends the disturbance. The caller holds the lock.
func (g *Proxy) disturbs(by *Armed) *disturbance {
	d := &disturbance{from: time.Now(), armed: by}
	g.disturbed = append(g.disturbed, d)
	return d
}

// end ends a disturbance. A second call does nothing. The caller holds the proxy's lock.
func (d *disturbance) end() {
	if d.to.IsZero() {
		d.to = time.Now()
	}
}

// Disturbed returns the periods in which the proxy changed or delayed traffic: faults that fired, frozen or edited watches,
// closed connections, and requests to another server. A disturbance that has not ended ends at the given time.
func (g *Proxy) Disturbed(until time.Time) (spans []Span) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.disturbed {
		if d.armed != nil && len(d.armed.matched) == 0 {
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

// spent narrows the period of a fault to the requests that it affected.
func (a *Armed) spent(s Span) Span {
	last := a.matched[len(a.matched)-1]
	s.From = a.matched[0].At
	if done := a.fault.Times > 0 && len(a.matched) == a.fault.Times; done || !s.To.IsZero() {
		s.To = last.Done // zero while the request is in flight
	}
	return s
}
