// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// ReadSnapshot implements retention.Snapshotter.
func (c *Cluster) ReadSnapshot(ctx context.Context, i policy.Intent) (policy.SnapshotReceipt, error) {
	mapping, err := c.snapshotMapping()
	if err != nil {
		return policy.SnapshotReceipt{}, err
	}
	t := policy.Target{Kind: policy.VolumeSnapshotKind, Namespace: i.Subject.Namespace, Name: i.SnapshotName()}
	data, blocked := c.get(ctx, mapping, t, listwatch.AcceptJSON)
	switch {
	case blocked != nil && blocked.Result == retention.Gone:
		return policy.SnapshotReceipt{}, retention.ErrNoSnapshot
	case blocked != nil:
		return policy.SnapshotReceipt{}, blocked.Err
	}
	var s policy.VolumeSnapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return policy.SnapshotReceipt{}, fmt.Errorf("read %s: %w", t, err)
	}
	return s.Receipt(i, c.clock.Now())
}

// CreateSnapshot implements retention.Snapshotter. It reads the claim for the manifest in the VolumeSnapshot.
func (c *Cluster) CreateSnapshot(ctx context.Context, w policy.DeletePermit) error {
	if !w.Valid() || w.Rule().Snapshot == nil {
		return errors.New("internal error: VolumeSnapshot without a permit")
	}
	i := w.Intent()
	manifest, err := c.claimManifest(ctx, i)
	if err != nil {
		return err
	}
	mapping, err := c.snapshotMapping()
	if err != nil {
		return err
	}
	body, err := json.Marshal(policy.NewVolumeSnapshot(i, manifest, c.clock.Now()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = c.rest.Post().AbsPath(collection(mapping, i.Subject.Namespace)...).
		SetHeader("Accept", listwatch.AcceptMetadata+","+listwatch.AcceptJSON).SetHeader("Content-Type", listwatch.AcceptJSON).Body(body).Do(ctx).Error()
	switch {
	case apierrors.IsAlreadyExists(err): // a request whose response was lost has created it
		return nil
	case err != nil:
		return fmt.Errorf("create VolumeSnapshot %s/%s: %w", i.Subject.Namespace, i.SnapshotName(), err)
	}
	return nil
}

func (c *Cluster) snapshotMapping() (*meta.RESTMapping, error) {
	mapping, err := c.mapper.RESTMapping(policy.VolumeSnapshotKind.GroupKind(), policy.VolumeSnapshotKind.Version)
	if err != nil {
		return nil, fmt.Errorf("VolumeSnapshots are not available: %w; install the CustomResourceDefinitions of snapshot.storage.k8s.io/v1 and the snapshot controller", err)
	}
	return mapping, nil
}

// claimManifest reads the claim of a deletion, and returns the manifest for a restore.
func (c *Cluster) claimManifest(ctx context.Context, i policy.Intent) (string, error) {
	mapping, err := c.mapper.RESTMapping(policy.ClaimKind.GroupKind(), policy.ClaimKind.Version)
	if err != nil {
		return "", err
	}
	claim, blocked := c.read(ctx, mapping, policy.TargetOf(policy.ClaimKind, i.Subject))
	if blocked != nil {
		return "", blocked.Err
	}
	manifest := policy.ClaimManifest(claim)
	if uid := manifest["metadata"].(map[string]any)["uid"]; uid != string(i.Subject.UID) {
		return "", fmt.Errorf("PersistentVolumeClaim %s/%s is another one now", i.Subject.Namespace, i.Subject.Name)
	}
	text, err := json.Marshal(manifest)
	return string(text), err
}
