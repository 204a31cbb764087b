package images

import (
	"errors"

	"github.com/sunset-k8s/sunset/policy"
)

var (
	errRoom       = errors.New("what has gone before was enough: there is room by now")
	errFilesystem = errors.New("nobody knows how full the filesystem is")
)

// stillTooFull asks how full the filesystem is before an image goes for want of space: what stood in the way of many may have
// gone since that was measured.
func (n *Node) stillTooFull(w policy.Warrant) error {
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
