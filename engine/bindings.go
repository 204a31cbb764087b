// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/policy"
)

// onOutcome binds a function that tests the outcome of an object.
func onOutcome(name string, test func(outcome) bool) functions.UnaryOp {
	return func(v ref.Val) ref.Val {
		object, err := objectOf(v)
		if err != nil {
			return failure(name, err)
		}
		o, err := outcomeOf(object)
		if err != nil {
			return failure(name, err)
		}
		return types.Bool(test(o))
	}
}

func finishedAt(v ref.Val) ref.Val {
	object, err := objectOf(v)
	if err != nil {
		return failure("finishedAt", err)
	}
	t, err := endOf(object)
	return optionalTime("finishedAt", t, err)
}

func hasCondition(v, kind ref.Val) ref.Val {
	object, err := objectOf(v)
	if err != nil {
		return failure("condition", err)
	}
	s, ok := kind.(types.String)
	if !ok {
		return failure("condition", fmt.Errorf("needs a condition type as a string, such as 'Ready', but got %s", kind.Type().TypeName()))
	}
	return types.Bool(isTrue(mapOf(object, "status"), string(s)))
}

func conditionTime(v, kinds ref.Val) ref.Val {
	object, err := objectOf(v)
	if err != nil {
		return failure("conditionTime", err)
	}
	wanted, err := textsOf(kinds)
	if err != nil {
		return failure("conditionTime", err)
	}
	t, err := firstTrue(mapOf(object, "status"), wanted)
	return optionalTime("conditionTime", t, err)
}

func controllerOf(v ref.Val) ref.Val {
	object, err := objectOf(v)
	if err != nil {
		return failure("controllerOf", err)
	}
	if owner := ownerReferenceOf(object); owner != nil {
		return types.OptionalOf(mapValue(owner))
	}
	return types.OptionalNone
}

// days returns n times 24 hours. Fractions of a nanosecond are rounded up, so that no object expires early.
func days(v ref.Val) ref.Val {
	const most = math.MaxInt64 / int64(policy.Day)
	switch n := v.(type) {
	case types.Int:
		if int64(n) < -most || int64(n) > most {
			return failure("days", fmt.Errorf("%d days: the limit is 292 years", int64(n)))
		}
		return types.Duration{Duration: time.Duration(n) * policy.Day}
	case types.Double:
		if !(math.Abs(float64(n)) <= float64(most)) {
			return failure("days", fmt.Errorf("%v days: the limit is 292 years", float64(n)))
		}
		return types.Duration{Duration: time.Duration(math.Ceil(float64(n) * float64(policy.Day)))}
	}
	return failure("days", fmt.Errorf("needs a number of days, such as 7 or 0.5, but got %s", v.Type().TypeName()))
}

// textsOf reads one string or a list of strings.
func textsOf(v ref.Val) ([]string, error) {
	if s, ok := v.(types.String); ok {
		return []string{string(s)}, nil
	}
	native, err := v.ConvertToNative(reflect.TypeFor[[]string]())
	if err != nil {
		return nil, fmt.Errorf("needs a condition type or a list of condition types, such as ['Complete', 'Failed'], but got %s", v.Type().TypeName())
	}
	return native.([]string), nil
}

func optionalTime(function string, t time.Time, err error) ref.Val {
	switch {
	case err != nil:
		return failure(function, err)
	case t.IsZero():
		return types.OptionalNone
	default:
		return types.OptionalOf(types.Timestamp{Time: t})
	}
}

func failure(function string, err error) ref.Val {
	return types.WrapErr(fmt.Errorf("%s(): %w", function, err))
}
