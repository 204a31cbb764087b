// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
)

// Node returns the node that holds the images in the files: the only Node object. It returns nil if there is none. If the files
// contain images and several Nodes, it returns an error, because the images do not name their node.
func (in *Contents) Node() (*engine.Node, error) {
	switch len(in.Nodes) {
	case 0:
		return nil, nil
	case 1:
		return &in.Nodes[0], nil
	}
	var names []string
	for _, n := range in.Nodes {
		names = append(names, n.Name)
	}
	if !in.Images {
		return nil, nil
	}
	return nil, fmt.Errorf("the files contain images and %d Nodes, but a preview supports one node: %s", len(in.Nodes), strings.Join(names, ", "))
}

// mayBeNode lists the text forms of kind Node.
var mayBeNode = []string{"kind: Node", `kind: "Node`, `"kind":"Node`, `"kind": "Node`, "v1 Node"}

func (in *Contents) addNode(object map[string]any) {
	in.Nodes = append(in.Nodes, engine.Node{Name: NameOf(object), Labels: textsOf(preview.MetadataOf(object)["labels"])})
}
