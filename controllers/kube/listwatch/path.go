// SPDX-License-Identifier: Apache-2.0

package listwatch

import "k8s.io/apimachinery/pkg/runtime/schema"

// Root returns the path below which the API server serves a version of an API group.
func Root(gv schema.GroupVersion) []string {
	if gv.Group == "" {
		return []string{"/api", gv.Version}
	}
	return []string{"/apis", gv.Group, gv.Version}
}
