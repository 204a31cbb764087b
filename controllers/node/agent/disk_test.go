// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// filesystems is a runtime that is unreachable while err is set.
type filesystems struct{ err error }

func (f *filesystems) Filesystems(context.Context) ([]string, error) {
	return []string{"/images"}, f.err
}

// TestDiskThatIsNotSeenIsLookedAtAgain: after an error the agent asks the runtime again after a minute. It reads the
// filesystem each time.
func TestDiskThatIsNotSeenIsLookedAtAgain(t *testing.T) {
	away := errors.New("away")
	at := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	runtime, hidden := &filesystems{err: away}, error(nil)
	d := &disk{runtime: runtime, clock: at, statfs: func(string) (v1alpha1.NodeImageFilesystem, error) {
		return v1alpha1.NodeImageFilesystem{}, hidden
	}}
	for _, step := range []struct {
		runtime, hidden, want error
	}{{away, nil, away}, {nil, nil, nil}, {nil, away, away}, {nil, nil, nil}, {away, nil, nil}} {
		runtime.err, hidden = step.runtime, step.hidden
		at.SetTime(at.Now().Add(pathAgain))
		d.locate(t.Context())
		if _, err := d.usage(); !errors.Is(err, step.want) {
			t.Errorf("with %+v: %v", step, err)
		}
	}
}
