//go:build !lockorder

package lockorder

import "sync"

// Mutex is a sync.Mutex with a place in the order.
type Mutex[R Rank] struct{ sync.Mutex }
