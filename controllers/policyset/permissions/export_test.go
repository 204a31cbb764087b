package permissions

// Prune forgets answers that were not asked for in a long time.
func (c *Checker) Prune() { c.prune(c.clock.Now()) }
