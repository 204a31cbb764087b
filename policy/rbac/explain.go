// SPDX-License-Identifier: Apache-2.0

package rbac

import (
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
