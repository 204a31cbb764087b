// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ParseKinds parses GroupKinds in the form of --allow-kinds: Kind for the core group, Kind.group for others.
func ParseKinds(names []string) ([]schema.GroupKind, error) {
	var kinds []schema.GroupKind
	for _, name := range names {
		kind := schema.ParseGroupKind(name)
		if kind.Kind == "" {
			return nil, fmt.Errorf("%q is not a kind; write Kind or Kind.group", name)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}
