package rank

import "k8s.io/apimachinery/pkg/types"

// changes are the members that a call may have given another standing. A member can be moved there and back.
type changes struct{ touched []*member }

// remembered is for how many members changes keep their memory from one call to the next.
const remembered = 1024

func (c *changes) touch(m *member) {
	if !m.touched {
		m.touched = true
		c.touched = append(c.touched, m)
	}
}

// settle ends a call: it names those that stand elsewhere than before.
func (c *changes) settle() []types.UID {
	var changed []types.UID
	for _, m := range c.touched {
		m.touched = false
		if now := m.standing(); now != m.told {
			m.told = now
			changed = append(changed, m.uid)
		}
	}
	clear(c.touched)
	if c.touched = c.touched[:0]; cap(c.touched) > remembered {
		c.touched = nil
	}
	return changed
}
