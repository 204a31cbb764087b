package gate

// Tally counts changes to watches, connections and dates, which do not belong to an armed fault.
type Tally struct {
	HeldBack int // events that Freeze held back
	Edited   int // events that Frames dropped, changed or duplicated
	Cut      int // connections that Cut closed
	Dated    int // answers whose Date header Skew changed
}

// Tally returns the counts so far.
func (g *Gate) Tally() Tally {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tally
}

func (g *Gate) count(add func(*Tally)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	add(&g.tally)
}
