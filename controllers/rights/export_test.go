package rights

// Prune forgets answers nobody has asked for in a long time.
func (c *Checker) Prune() { c.prune() }
