package rank

// cut divides members into the first, which are the newest, and the rest. Where it cuts is for its owner to say.
type cut struct{ first, rest line }

// isFirst reports on which side a member of the cut is.
func (c *cut) isFirst(m *member) bool {
	return c.rest.len() == 0 || newer(m, c.rest.newest())
}

// add puts a member on the side where it belongs; on the boundary it is one of the first.
func (c *cut) add(m *member) { c.side(m).add(m) }

func (c *cut) remove(m *member) { c.side(m).remove(m) }

func (c *cut) side(m *member) *line {
	if c.isFirst(m) {
		return &c.first
	}
	return &c.rest
}

// fit moves the boundary until the first are n, or all.
func (c *cut) fit(n int, changes *changes) {
	for c.first.len() > max(n, 0) {
		c.demote(changes)
	}
	for c.first.len() < n && c.rest.len() > 0 {
		c.promote(changes)
	}
}

// demote makes the oldest of the first one of the rest.
func (c *cut) demote(changes *changes) {
	m := c.first.oldest()
	c.first.remove(m)
	c.rest.add(m)
	changes.touch(m)
}

// promote makes the newest of the rest one of the first.
func (c *cut) promote(changes *changes) {
	m := c.rest.newest()
	c.rest.remove(m)
	c.first.add(m)
	changes.touch(m)
}

func (c *cut) len() int { return c.first.len() + c.rest.len() }
