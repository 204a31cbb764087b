package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// etcdDir is where etcd keeps its data, in the scratch directory.
const etcdDir = "etcd"

// Snapshot is what etcd held at a moment.
type Snapshot struct{ dir string }

// Snapshot copies what etcd holds. Meanwhile etcd stands still, and its files
// are as a crash would leave them: it never syncs them, so the kernel has all
// that was written. Snapshots end with the cluster.
func (c *Cluster) Snapshot() (s Snapshot, err error) {
	if s.dir, err = os.MkdirTemp(c.scratch.dir, "snapshot-"); err != nil {
		return s, err
	}
	if err := c.Pause(Etcd); err != nil {
		return s, err
	}
	err = os.CopyFS(s.dir, os.DirFS(c.scratch.path(etcdDir)))
	return s, errors.Join(err, c.Resume(Etcd))
}

// Rewind makes etcd what it was at a snapshot, as an operator does who restores
// a backup: everything since is lost, and its revisions will be given again. The
// API servers stay up, and remember what is no more; Restart makes them forget.
func (c *Cluster) Rewind(ctx context.Context, s Snapshot) error {
	if err := c.Kill(Etcd); err != nil {
		return err
	}
	data := c.scratch.path(etcdDir)
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	if err := os.CopyFS(data, os.DirFS(s.dir)); err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	return c.Restart(ctx, Etcd)
}
