// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// random generates expressions and objects that use the same names.
type random struct {
	*rand.Rand
	locals []string
}

func (r *random) pick(choices ...string) string { return choices[r.IntN(len(choices))] }

// value returns any JSON value of at most this depth.
func (r *random) value(depth int) any {
	n := r.IntN(10)
	if depth == 0 {
		n = 4 + r.IntN(6)
	}
	switch n {
	case 0, 1, 2:
		return r.object(depth - 1)
	case 3:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = r.value(depth - 1)
		}
		return list
	case 4:
		return nil
	case 5:
		return r.IntN(2) == 0
	case 6:
		return int64(r.IntN(3))
	case 7:
		return float64(r.IntN(3)) / 2
	default:
		return r.pick("a", "b", "True", "x")
	}
}

func (r *random) object(depth int) map[string]any {
	object := map[string]any{}
	for range r.IntN(5) {
		object[r.key()] = r.value(max(depth, 0))
	}
	return object
}

func (r *random) key() string { return r.pick("a", "b", "c", "type", "status", "conditions") }

// path returns the path of a field of the object or of a local variable.
func (r *random) path() string {
	root := "object"
	if len(r.locals) > 0 && r.IntN(2) == 0 {
		root = r.pick(r.locals...)
	}
	var b strings.Builder
	b.WriteString(root)
	for range r.IntN(4) {
		b.WriteString(r.pick(".", ".", ".?") + r.key())
		if r.IntN(6) == 0 {
			b.WriteString(r.pick("[0]", "[?0]", "['a']", "[?'b']"))
		}
	}
	return b.String()
}

// bound calls f with one more local variable.
func (r *random) bound(f func(name string) string) string {
	name := fmt.Sprintf("v%d", len(r.locals))
	r.locals = append(r.locals, name)
	defer func() { r.locals = r.locals[:len(r.locals)-1] }()
	return f(name)
}

func (r *random) expression(depth int) string {
	if depth <= 0 {
		return r.pick(r.path(), r.path(), r.path(), "'a'", "1", "true", "null")
	}
	sub := func() string { return r.expression(depth - 1) }
	over := func(format string) string {
		list := r.path()
		return r.bound(func(v string) string { return fmt.Sprintf(format, list, v, sub(), v) })
	}
	switch r.IntN(24) {
	case 0:
		return fmt.Sprintf("(%s == %s)", sub(), sub())
	case 1:
		return fmt.Sprintf("(%s ? %s : %s)", sub(), sub(), sub())
	case 2:
		return fmt.Sprintf("(%s + %s)", sub(), sub())
	case 3:
		return fmt.Sprintf("size(%s)", sub())
	case 4:
		return fmt.Sprintf("has(%s.%s)", r.path(), r.key())
	case 5:
		return fmt.Sprintf("(%s in %s)", sub(), sub())
	case 6:
		return fmt.Sprintf("dyn([%s, %s])[%s]", "dyn("+sub()+")", "dyn("+sub()+")", r.pick("0", "1"))
	case 7:
		return fmt.Sprintf("dyn({'a': dyn(%s), 'b': dyn(%s)}).%s", sub(), sub(), r.key())
	case 8:
		return over("dyn(%[1]s).exists(%[2]s, %[3]s)")
	case 9:
		return over("dyn(%[1]s).map(%[2]s, %[3]s)")
	case 10:
		return over("dyn(%[1]s).filter(%[2]s, %[3]s)[0]")
	case 11:
		return over("cel.bind(%[2]s, %[1]s, %[3]s)")
	case 12:
		return over("optional.of(%[1]s).optMap(%[2]s, dyn(%[3]s)).orValue(null)")
	case 13:
		return over("dyn(%[1]s).transformList(i, %[2]s, %[3]s)")
	case 14:
		return over("dyn(%[1]s).transformMap(k, %[2]s, dyn(%[3]s))")
	case 15:
		return fmt.Sprintf("optional.of(dyn(%s)).orValue(%s)", sub(), sub())
	case 16:
		return fmt.Sprintf("optional.ofNonZeroValue(dyn(%s)).hasValue()", sub())
	case 17:
		return fmt.Sprintf("dyn(%s).%s", sub(), r.pick("first()", "last()", "flatten()"))
	case 18:
		return fmt.Sprintf("%s(%s)", r.pick("type", "string", "finished", "failed", "finishedAt", "controllerOf"), sub())
	case 19:
		return fmt.Sprintf("condition(%s, %s)", r.path(), r.pick("'a'", "'x'", r.path()))
	case 20:
		return fmt.Sprintf("dyn(%s)[%s]", sub(), sub())
	case 21:
		return fmt.Sprintf("(%s %s %s)", sub(), r.pick("&&", "||"), sub())
	case 22:
		return over("dyn(%[1]s).all(k, %[2]s, dyn(%[3]s) == %[2]s)")
	default:
		return fmt.Sprintf("dyn(%s).%s", sub(), r.key())
	}
}
