// SPDX-License-Identifier: Apache-2.0

package images

import (
	"errors"

	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy"
)

var (
	errRoom       = errors.New("earlier removals have freed enough space")
	errFilesystem = errors.New("disk usage unknown")
)

// stillTooFull checks the disk usage right before an image is removed to free disk space. Earlier removals may have freed
// enough since the last measurement. If the rule has a capacity that keeps as few images, the usage does not matter.
func (n *Node) stillTooFull(w policy.DeletePermit) error {
	rule := w.Rule()
	own := rule.Spec.Capacity
	if w.Reason() != policy.OverCapacity || !rule.Images.HasThresholds || own != nil && rule.Capacity.Max >= int(ptr.Deref(own.Max, 0)) {
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
