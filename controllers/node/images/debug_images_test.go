// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDebugImagesOfTheLastSnapshot(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	m.permit("a")
	looks := m.lists
	m.has("go/used:v1", "b") // the next snapshot has it
	seen, err := m.DebugImages(t.Context())
	if err != nil || m.lists != looks || len(seen.Images) != 1 || !seen.Taken.Equal(m.clock.Now().Add(-interval)) || seen.Node.Name != "node" {
		t.Fatalf("%+v, %v after %d snapshots; want the one of an interval ago, and %d snapshots", seen, err, m.lists, looks)
	}
	if i := seen.Images[0]; i.ID != id("a") || i.InUse || i.FirstSeen.IsZero() || len(seen.Uses) != 0 {
		t.Errorf("image %+v, uses %v", i, seen.Uses)
	}
}

func TestDebugImagesTakesASnapshot(t *testing.T) {
	m := newMachine(t)
	m.has("go/used:v1", "a")
	m.pods = append(m.pods, naming("go/used:v1"))
	sees := func(looks int) {
		t.Helper()
		seen, err := m.DebugImages(t.Context())
		if err != nil || len(seen.Images) != 1 || !seen.Images[0].InUse || seen.Uses[id("a")] != "Pod /, as go/used:v1" || m.lists != looks {
			t.Errorf("%+v, %v after %d snapshots, want %d", seen, err, m.lists, looks)
		}
	}
	fails := func(looks int) {
		t.Helper()
		if _, err := m.DebugImages(t.Context()); err == nil || !strings.Contains(err.Error(), "images and Pods of the node not read: away") || m.lists != looks {
			t.Errorf("%v after %d snapshots, want %d", err, m.lists, looks)
		}
	}
	sees(1)
	m.clock.Step(interval)
	sees(1)
	m.clock.Step(interval)
	sees(2)
	m.list = errors.New("away")
	m.clock.Step(2 * interval)
	fails(3)
	m.list = nil
	m.clock.Step(interval - 1)
	fails(3) // no matter how often a client asks
	m.clock.Step(1)
	sees(4)
	m.clock.SetTime(m.clock.Now().Add(-time.Hour))
	if _, err := m.DebugImages(t.Context()); err == nil {
		t.Error("a snapshot with a time in the future counts as recent")
	}
}

// TestDebugImagesWaitsForASnapshotInProgress: clients share it.
func TestDebugImagesWaitsForASnapshotInProgress(t *testing.T) {
	m := newMachine(t)
	m.has("go/app:v1", "a")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	m.during = func(call string) {
		if call != "Uses" {
			return
		}
		if _, err := m.DebugImages(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that asks during a snapshot, and does not wait: %v", err)
		}
	}
	if seen, err := m.DebugImages(t.Context()); err != nil || len(seen.Images) != 1 || m.lists != 1 {
		t.Errorf("%+v, %v after %d snapshots", seen, err, m.lists)
	}
}
