// SPDX-License-Identifier: Apache-2.0

//go:build !lockorder

package lockorder

import "sync"

// Mutex is a sync.Mutex with a rank in the order.
type Mutex[R comparable] struct{ sync.Mutex }

// RWMutex is a sync.RWMutex with a rank in the order.
type RWMutex[R comparable] struct{ sync.RWMutex }
