package listwatch

import (
	"fmt"
	"strings"
)

// Refused says to people what they can do where the API server refuses verbs on a resource.
func Refused(resource string, verbs ...string) string {
	return fmt.Sprintf("Sunset may not %s %s: grant its service account %s on that resource",
		strings.Join(verbs, " and "), resource, strings.Join(verbs, ", "))
}
