// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// adapter turns decoded JSON into CEL values. It handles the seven JSON types itself, without reflection and with fewer
// allocations, and passes other values to cel-go's adapter. Both adapters agree, except that cel-go loops over maps in
// a random order: FuzzAdapter compares them.
type adapter struct{}

// NativeToValue implements types.Adapter.
func (adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case string:
		return types.String(x)
	case map[string]any:
		return mapValue(x)
	case []any:
		return listValue(x)
	case int64:
		return types.Int(x)
	case bool:
		return types.Bool(x)
	case nil:
		return types.NullValue
	case float64:
		return types.Double(x)
	case ref.Val:
		return x
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// mapValue is a JSON object as a CEL map. A Go map is one pointer, so putting it into an interface allocates nothing.
type mapValue map[string]any

var (
	_ traits.Mapper   = mapValue(nil)
	_ traits.Zeroer   = mapValue(nil)
	_ traits.Foldable = mapValue(nil)
)

// slow returns the same map as cel-go implements it, for the methods that are not worth a faster implementation.
func (m mapValue) slow() traits.Mapper {
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, m)
}

// ConvertToNative implements ref.Val.
func (m mapValue) ConvertToNative(t reflect.Type) (any, error) { return m.slow().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (m mapValue) ConvertToType(t ref.Type) ref.Val {
	if t == types.MapType {
		return m
	}
	return m.slow().ConvertToType(t)
}

// Equal implements ref.Val.
func (m mapValue) Equal(other ref.Val) ref.Val { return m.slow().Equal(other) }

// Type implements ref.Val.
func (m mapValue) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (m mapValue) Value() any { return map[string]any(m) }

// Contains implements traits.Container.
func (m mapValue) Contains(key ref.Val) ref.Val {
	_, found := m.Find(key)
	return types.Bool(found)
}

// Get implements traits.Indexer.
func (m mapValue) Get(key ref.Val) ref.Val {
	v, found := m.Find(key)
	if !found {
		return types.ValOrErr(v, "no such key: %v", key)
	}
	return v
}

// Find implements traits.Mapper. A key that is not a string is not found, as in cel-go.
func (m mapValue) Find(key ref.Val) (ref.Val, bool) {
	s, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, found := m[string(s)]
	if !found {
		return nil, false
	}
	return adapter{}.NativeToValue(v), true
}

// Iterator implements traits.Iterable. It visits the keys in sorted order: Go's own order differs between runs, and
// then the facts about an object could differ too.
func (m mapValue) Iterator() traits.Iterator {
	return types.NewStringList(adapter{}, m.keys()).Iterator()
}

// Fold implements traits.Foldable. It visits the keys in sorted order.
func (m mapValue) Fold(f traits.Folder) {
	for _, k := range m.keys() {
		if !f.FoldEntry(k, m[k]) {
			return
		}
	}
}

func (m mapValue) keys() []string { return slices.Sorted(maps.Keys(m)) }

// Size implements traits.Sizer.
func (m mapValue) Size() ref.Val { return types.Int(len(m)) }

// IsZeroValue implements traits.Zeroer.
func (m mapValue) IsZeroValue() bool { return len(m) == 0 }

// Fields implements cost.Map.
func (m mapValue) Fields() map[string]any { return m }
