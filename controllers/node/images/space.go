// SPDX-License-Identifier: Apache-2.0

package images

import (
	"errors"

	"github.com/sunset-k8s/sunset/policy"
)

var (
	errRoom       = errors.New("earlier removals have freed enough space")
	errFilesystem = errors.New("disk usage unknown")
)

// stillTooFull checks the disk usage right before an image is removed to free disk space. Earlier removals may have freed
// enough since the last measurement.
func (n *Node) stillTooFull(w policy.DeletePermit) error {
	rule := w.Rule()
	if w.Reason() != policy.OverCapacity || !rule.Images.HasThresholds || rule.Spec.Capacity != nil {
		return nil
	}
	node, err := n.Cluster.Node()
	if err != nil {
		return err
	}
	if node.Filesystem == nil {
		return errFilesystem
	}
	if int(node.Filesystem.UsedPercent) <= rule.Images.Low {
		return errRoom
	}
	return nil
}
