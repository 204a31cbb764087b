package gate

// Tally counts what was done to watches, connections and dates, which no fault is armed for.
type Tally struct {
	HeldBack int // events, by Freeze
	Edited   int // events that Frames lost, changed or doubled
	Cut      int // connections, by Cut
	Dated    int // answers whose date Skew has changed
}

// Tally is what was done so far.
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
