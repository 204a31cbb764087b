package images

import (
	"errors"

	"github.com/sunset-k8s/sunset/policy"
)

var (
	errRoom       = errors.New("earlier removals have freed enough space")
	errFilesystem = errors.New("disk usage unknown")
)

// stillTooFull asks how full the filesystem is before an image goes for want of space: what stood in the way of many may have
// gone since that was measured.
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
