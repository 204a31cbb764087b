// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// disk is the filesystem of the images.
type disk struct {
	runtime interface {
		Filesystems(ctx context.Context) ([]string, error)
	}
	clock  clock.PassiveClock
	statfs func(path string) (v1alpha1.NodeImageFilesystem, error)

	mu    sync.Mutex
	path  string // mount point; empty until the runtime has reported it
	asked time.Time
	err   error
}

// pathAge is how long the path that the runtime reported stays valid. The request may make the runtime walk through all images.
const pathAge = 10 * time.Minute

// pathAgain is the delay before the next request if the runtime reported no path.
const pathAgain = time.Minute

var errNotAsked = errors.New("the container runtime has not reported where it stores images")

// locate asks the runtime where it stores images, unless it asked recently.
func (d *disk) locate(ctx context.Context) {
	d.mu.Lock()
	age := d.clock.Now().Sub(d.asked)
	most := pathAge
	if d.path == "" {
		most = pathAgain
	}
	fresh := !d.asked.IsZero() && age >= 0 && age < most
	d.mu.Unlock()
	if fresh {
		return
	}
	all, err := d.runtime.Filesystems(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err, d.asked = err, d.clock.Now(); err == nil {
		d.path = all[0]
	}
}

// usage returns the current usage of the filesystem. The error says why it is unknown.
func (d *disk) usage() (*v1alpha1.NodeImageFilesystem, error) {
	d.mu.Lock()
	path, err := d.path, d.err
	d.mu.Unlock()
	switch {
	case path == "" && err != nil:
		return nil, err
	case path == "":
		return nil, errNotAsked
	}
	usage, err := d.statfs(path)
	if err != nil {
		return nil, fmt.Errorf("the agent cannot read the usage of %s; mount it read-only at the path that it has on the node: %w", path, err)
	}
	return &usage, nil
}
