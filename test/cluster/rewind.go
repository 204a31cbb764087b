// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// etcdDir is the directory of etcd's data, in the scratch directory.
const etcdDir = "etcd"

// Snapshot is the data of etcd at one time.
type Snapshot struct{ dir string }

// Snapshot copies the data of etcd, which is paused during the copy. The files are those that a crash would leave: etcd
// never syncs them, and the kernel has all writes. The cluster removes its snapshots when it stops.
func (c *Cluster) Snapshot() (s Snapshot, err error) {
	if s.dir, err = os.MkdirTemp(c.scratch.Path(""), "snapshot-"); err != nil {
		return s, err
	}
	if err := c.Pause(Etcd); err != nil {
		return s, err
	}
	err = os.CopyFS(s.dir, os.DirFS(c.scratch.Path(etcdDir)))
	return s, errors.Join(err, c.Resume(Etcd))
}

// Rewind restores etcd from a snapshot, like an operator who restores a backup: later writes are lost, and etcd reuses
// their revisions. The API servers keep running with stale caches; Restart clears them.
func (c *Cluster) Rewind(ctx context.Context, s Snapshot) error {
	if err := c.Kill(Etcd); err != nil {
		return err
	}
	c.kueueCRDs = ""
	data := c.scratch.Path(etcdDir)
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	if err := os.CopyFS(data, os.DirFS(s.dir)); err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	return c.Restart(ctx, Etcd)
}
