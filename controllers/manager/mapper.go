// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper finds the resources of kinds and caches them. The mapper of controller-runtime blocks all callers while it asks the
// API server about an unknown kind, and any tenant can name one.
type mapper struct {
	meta.RESTMapper
	found sync.Map // *meta.RESTMapping by sought
}

type sought struct {
	kind     schema.GroupKind
	versions string
}

// newMapper returns a mapper whose requests have the timeout discoverWithin.
func newMapper(c *rest.Config, h *http.Client) (meta.RESTMapper, error) {
	hasty := *h
	hasty.Timeout = discoverWithin
	m, err := apiutil.NewDynamicRESTMapper(c, &hasty)
	return &mapper{RESTMapper: m}, err
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	s := sought{kind, strings.Join(versions, " ")}
	if known, ok := m.found.Load(s); ok {
		return known.(*meta.RESTMapping), nil
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.found.Store(s, mapping)
	}
	return mapping, err
}

// refresh replaces the cached mappings of kinds that served has: a CustomResourceDefinition that was deleted and created again may
// have another plural or scope.
func (m *mapper) refresh(served meta.RESTMapper) {
	for key := range m.found.Range {
		s := key.(sought)
		if mapping, err := served.RESTMapping(s.kind, strings.Fields(s.versions)...); err == nil {
			m.found.Store(s, mapping)
		}
	}
}
