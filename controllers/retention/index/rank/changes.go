// SPDX-License-Identifier: Apache-2.0

package rank

import "k8s.io/apimachinery/pkg/types"

// changes has the members whose rank result a call may have changed. A member may also be moved there and back.
type changes struct{ touched []*member }

// remembered is the number of members up to which changes keeps its memory between calls.
const remembered = 1024

func (c *changes) touch(m *member) {
	if !m.touched {
		m.touched = true
		c.touched = append(c.touched, m)
	}
}

// settle ends a call: it returns the members whose rank result differs from the one before.
func (c *changes) settle() []types.UID {
	var changed []types.UID
	for _, m := range c.touched {
		m.touched = false
		if now := m.result(); now != m.reported {
			m.reported = now
			changed = append(changed, m.uid)
		}
	}
	clear(c.touched)
	if c.touched = c.touched[:0]; cap(c.touched) > remembered {
		c.touched = nil
	}
	return changed
}
