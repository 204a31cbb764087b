// SPDX-License-Identifier: Apache-2.0

package listwatch

import (
	"fmt"
	"strings"
)

// Refused returns a message that names the missing permissions on a resource, and says how to grant them.
func Refused(resource string, verbs ...string) string {
	return fmt.Sprintf("Sunset has no permission to %s %s; grant its ServiceAccount the verbs %s on that resource",
		strings.Join(verbs, " and "), resource, strings.Join(verbs, ", "))
}
