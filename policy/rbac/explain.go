// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Explain is the command that explains the decision about an object. The namespace of a cluster-scoped object is empty.
func Explain(kind schema.GroupKind, namespace, name string) string {
	command := "kubectl sunset explain " + strings.ToLower(kind.String()) + "/" + name
	if namespace != "" {
		command += " -n " + namespace
	}
	return Line(command)
}

// ExplainImage is the command that explains the decision about an image on a node. If the image has no complete name that a shell
// leaves as it is, it is the command that lists the decisions about all images on the node: nodes report these names.
func ExplainImage(node, image string) string {
	if !imageName.MatchString(image) {
		return Line("kubectl sunset preview --node " + node)
	}
	return Line("kubectl sunset explain image/" + image + " --node " + node)
}

// imageName matches the names and IDs of images. A shortened name ends with a dot.
var imageName = regexp.MustCompile(`^\w([\w.:/@+-]*\w)?$`)
