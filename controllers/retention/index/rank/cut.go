// SPDX-License-Identifier: Apache-2.0

package rank

// cut divides members into the first, which are the newest, and the rest. Its owner sets the boundary with fit.
type cut struct{ first, rest line }

// isFirst reports whether a member of the cut is among the first.
func (c *cut) isFirst(m *member) bool {
	return c.rest.len() == 0 || newer(m, c.rest.newest())
}

// add adds a member on the side where it belongs; on the boundary it is one of the first.
func (c *cut) add(m *member) { c.side(m).add(m) }

func (c *cut) remove(m *member) { c.side(m).remove(m) }

func (c *cut) side(m *member) *line {
	if c.isFirst(m) {
		return &c.first
	}
	return &c.rest
}

// fit moves the boundary until n members are the first, or all if there are fewer.
func (c *cut) fit(n int, changes *changes) {
	for c.first.len() > max(n, 0) {
		c.demote(changes)
	}
	for c.first.len() < n && c.rest.len() > 0 {
		c.promote(changes)
	}
}

// demote moves the oldest of the first to the rest.
func (c *cut) demote(changes *changes) {
	m := c.first.oldest()
	c.first.remove(m)
	c.rest.add(m)
	changes.touch(m)
}

// promote moves the newest of the rest to the first.
func (c *cut) promote(changes *changes) {
	m := c.rest.newest()
	c.rest.remove(m)
	c.first.add(m)
	changes.touch(m)
}

func (c *cut) len() int { return c.first.len() + c.rest.len() }
