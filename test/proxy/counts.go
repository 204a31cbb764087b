// SPDX-License-Identifier: Apache-2.0

package proxy

// Counts counts changes to watches, connections and dates, which do not belong to an armed fault.
type Counts struct {
	HeldBack int // events that Freeze held back
	Edited   int // events that Frames dropped, changed or duplicated
	Cut      int // connections that Cut closed
	Dated    int // answers whose Date header Skew changed
}

// Counts returns the counts so far.
func (g *Proxy) Counts() Counts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.counts
}

func (g *Proxy) count(add func(*Counts)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	add(&g.counts)
}
