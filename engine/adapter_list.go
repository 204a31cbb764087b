// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// listValue is a JSON array as a CEL list.
type listValue []any

var (
	_ traits.Lister   = listValue(nil)
	_ traits.Zeroer   = listValue(nil)
	_ traits.Foldable = listValue(nil)
)

// slow returns the same list as cel-go implements it, for the methods that are not worth a faster implementation. It
// uses our adapter for the elements.
func (l listValue) slow() traits.Lister { return types.NewDynamicList(adapter{}, []any(l)) }

// ConvertToNative implements ref.Val.
func (l listValue) ConvertToNative(t reflect.Type) (any, error) { return l.slow().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (l listValue) ConvertToType(t ref.Type) ref.Val {
	if t == types.ListType {
		return l
	}
	return l.slow().ConvertToType(t)
}

// Equal implements ref.Val.
func (l listValue) Equal(other ref.Val) ref.Val { return l.slow().Equal(other) }

// Type implements ref.Val.
func (l listValue) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (l listValue) Value() any { return []any(l) }

// Add implements traits.Adder.
func (l listValue) Add(other ref.Val) ref.Val { return l.slow().Add(other) }

// Contains implements traits.Container.
func (l listValue) Contains(elem ref.Val) ref.Val {
	for _, v := range l {
		if elem.Equal(adapter{}.NativeToValue(v)) == types.True {
			return types.True
		}
	}
	return types.False
}

// Get implements traits.Indexer.
func (l listValue) Get(index ref.Val) ref.Val {
	if i, ok := index.(types.Int); ok && i >= 0 && int64(i) < int64(len(l)) {
		return adapter{}.NativeToValue(l[i])
	}
	return l.slow().Get(index)
}

// Iterator implements traits.Iterable.
func (l listValue) Iterator() traits.Iterator { return &listIterator{list: l} }

// Fold implements traits.Foldable.
func (l listValue) Fold(f traits.Folder) {
	for i, v := range l {
		if !f.FoldEntry(i, v) {
			return
		}
	}
}

// Size implements traits.Sizer.
func (l listValue) Size() ref.Val { return types.Int(len(l)) }

// IsZeroValue implements traits.Zeroer.
func (l listValue) IsZeroValue() bool { return len(l) == 0 }

// listIterator iterates over the elements. It never leaves a comprehension, so its other methods as a CEL value are
// slow.
type listIterator struct {
	list listValue
	next int
}

// HasNext implements traits.Iterator.
func (it *listIterator) HasNext() ref.Val { return types.Bool(it.next < len(it.list)) }

// Next implements traits.Iterator.
func (it *listIterator) Next() ref.Val {
	if it.next >= len(it.list) {
		return nil
	}
	v := it.list[it.next]
	it.next++
	return adapter{}.NativeToValue(v)
}

// ConvertToNative implements ref.Val.
func (it *listIterator) ConvertToNative(t reflect.Type) (any, error) {
	return it.list.slow().Iterator().ConvertToNative(t)
}

// ConvertToType implements ref.Val.
func (it *listIterator) ConvertToType(t ref.Type) ref.Val {
	return it.list.slow().Iterator().ConvertToType(t)
}

// Equal implements ref.Val.
func (it *listIterator) Equal(other ref.Val) ref.Val { return it.list.slow().Iterator().Equal(other) }

// Type implements ref.Val.
func (it *listIterator) Type() ref.Type { return types.IteratorType }

// Value implements ref.Val.
func (it *listIterator) Value() any { return nil }

// Elements implements cost.List.
func (l listValue) Elements() []any { return l }
