// SPDX-License-Identifier: Apache-2.0

package listwatch

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Root returns the path below which the API server serves a version of an API group.
func Root(gv schema.GroupVersion) []string {
	if gv.Group == "" {
		return []string{"/api", gv.Version}
	}
	return []string{"/apis", gv.Group, gv.Version}
}

// Body returns the body of a response. Its error has the message of the API server, which the error of Raw alone does not have.
func Body(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

// Refused returns a message that names the missing permissions on a resource, and says how to grant them.
func Refused(resource string, verbs ...string) string {
	return fmt.Sprintf("Sunset has no permission to %s %s; grant its ServiceAccount the verbs %s on that resource",
		strings.Join(verbs, " and "), resource, strings.Join(verbs, ", "))
}
