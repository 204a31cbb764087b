package load

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/engine"
)

// Node is the node that images in the files are on: the one Node object. It is nil where there is none; several are an
// error where there are images, as nobody can say which of them has an image.
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
	return nil, fmt.Errorf("images are of one node, and the files have %d: %s", len(in.Nodes), strings.Join(names, ", "))
}

// mayBeNode are the ways in which an object of kind Node says so.
var mayBeNode = []string{"kind: Node", `kind: "Node`, `"kind":"Node`, `"kind": "Node`, "v1 Node"}

func (in *Contents) addNode(object map[string]any) {
	meta, _ := object["metadata"].(map[string]any)
	in.Nodes = append(in.Nodes, engine.Node{Name: NameOf(object), Labels: textsOf(meta["labels"])})
}
