package index

import (
	"fmt"
	"slices"
)

// Consistent says what is wrong with the order and the places of the schedule.
func (x *Index) Consistent() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, row := range x.schedule {
		switch {
		case int(row.slot) != i+1:
			return fmt.Errorf("%s is at %d and thinks it is at %d", row.UID, i+1, row.slot)
		case x.rows[row.UID] != row:
			return fmt.Errorf("%s is scheduled and not known", row.UID)
		case row.gone || row.due.IsZero():
			return fmt.Errorf("%s is scheduled and never due", row.UID)
		case i > 0 && x.schedule.Less(i, (i-1)/2):
			return fmt.Errorf("%s comes after one that is due later", row.UID)
		}
	}
	for uid, row := range x.rows {
		if row.slot > 0 && !slices.Contains(x.schedule, row) {
			return fmt.Errorf("%s thinks it is scheduled", uid)
		}
	}
	return nil
}

// TakeAtMost is how much one TakeDue hands over.
const TakeAtMost = takeAtMost

// Pages is for how many namespaces the index remembers rules.
func (x *Index) Pages() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.pages)
}
