// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
)

// look finds out what lives in the cluster of what the plan depends on.
func (r *archiveRestore) look(ctx context.Context, c *cluster.Cluster, records []restore.Record) (restore.Live, error) {
	live := restore.Live{Objects: map[restore.Ref]types.UID{}, Unknown: map[restore.Ref]error{}, Served: map[schema.GroupVersionKind]restore.Served{}}
	refs := restore.Refs(records)
	for _, ref := range refs {
		served, ok, err := c.Serving(ref.GroupVersionKind)
		if err != nil {
			return live, err
		}
		if ok {
			live.Served[ref.GroupVersionKind] = restore.Served{Namespaced: served.Namespaced, BuiltIn: cluster.IsBuiltIn(ref.GroupVersionKind)}
		}
	}
	progress, n := terminal.StartProgress(r.streams.ErrOut, "objects looked up"), 0
	defer progress.Stop()
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(inFlight)
	for _, ref := range refs {
		group.Go(func() error {
			uid, exists, err := c.UID(ctx, ref.GroupVersionKind, ref.Namespace, ref.Name)
			mu.Lock()
			defer mu.Unlock()
			n++
			progress.Set(n)
			switch {
			case err != nil:
				live.Unknown[ref] = err
			case exists:
				live.Objects[ref] = uid
			}
			return ctx.Err()
		})
	}
	return live, group.Wait()
}

// create carries out the steps one after the other. If it cannot create an object, it continues with the others.
func (r *archiveRestore) create(ctx context.Context, c *cluster.Cluster, steps []*restore.Step) error {
	progress, n := terminal.StartProgress(r.streams.ErrOut, "objects restored"), 0
	defer progress.Stop()
	created := map[types.UID]types.UID{}
	for _, s := range steps {
		if s.Object == nil {
			continue
		}
		uid, err := r.createOne(ctx, c, s, created)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.Refuse(err.Error())
			continue
		}
		created[s.UID] = uid
		n++
		progress.Set(n)
	}
	return nil
}

// createOne creates one object, and writes its status.
func (r *archiveRestore) createOne(ctx context.Context, c *cluster.Cluster, s *restore.Step, created map[types.UID]types.UID) (types.UID, error) {
	if err := s.Link(created); err != nil {
		return "", err
	}
	kind, _, err := c.Serving(s.Ref.GroupVersionKind)
	if err != nil {
		return "", err
	}
	var object map[string]any
	if s.RunsToCompletion() { // a cluster with another definition of the kind may drop the field without an error
		if object, err = c.Create(ctx, kind, s.Object, true); err == nil {
			err = s.Confirm(object)
		}
	}
	if err == nil {
		object, err = c.Create(ctx, kind, s.Object, false)
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return "", errors.New("an object of this name exists now, and restore never replaces an object")
	case err != nil:
		return "", err
	}
	s.Object = object
	if s.Status != nil {
		if err := c.SetStatus(ctx, kind, object, s.Status); err != nil {
			s.Notes = append(s.Notes, fmt.Sprintf("its status was not written: %v", err))
		}
	}
	return (&unstructured.Unstructured{Object: object}).GetUID(), nil
}
