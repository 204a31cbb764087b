// SPDX-License-Identifier: Apache-2.0

//go:build lockorder

package lockorder_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
)

func TestMutexPanicsOutOfOrder(t *testing.T) {
	var first lockorder.Mutex[lockorder.Publishing]
	var second lockorder.Mutex[lockorder.Index]
	message := func(inOrder bool) (said string) {
		defer func() {
			if r := recover(); r != nil {
				said = r.(string)
			}
		}()
		if inOrder {
			first.Lock()
			defer first.Unlock()
		}
		second.Lock()
		defer second.Unlock()
		if !inOrder {
			first.Lock()
			defer first.Unlock()
		}
		return ""
	}
	if said := message(true); said != "" {
		t.Errorf("in order: %s", said)
	}
	if said := message(false); !strings.Contains(said, "Publishing is locked while lockorder.Index is held") {
		t.Errorf("out of order: %q", said)
	}
}
