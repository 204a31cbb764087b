// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// functions returns the functions of docs/reference/cel.md for Jobs, Pods and conditions. For other kinds they return errUnsupported.
func functions() []cel.EnvOption {
	moments := cel.OptionalType(cel.TimestampType)
	return []cel.EnvOption{
		asked("finished", cel.BoolType, func(o map[string]any) (ref.Val, error) {
			e, err := endOf(o)
			return types.Bool(e.ended), err
		}),
		asked("succeeded", cel.BoolType, func(o map[string]any) (ref.Val, error) {
			e, err := endOf(o)
			return types.Bool(e.ended && e.well), err
		}),
		asked("failed", cel.BoolType, func(o map[string]any) (ref.Val, error) {
			e, err := endOf(o)
			return types.Bool(e.ended && e.badly), err
		}),
		asked("finishedAt", moments, func(o map[string]any) (ref.Val, error) {
			e, err := endOf(o)
			if err == nil && e.ended && e.at.IsZero() {
				err = fmt.Errorf("finished without a time")
			}
			return optionalTime(e.at), err
		}),
		asked("controllerOf", cel.OptionalType(cel.MapType(cel.StringType, cel.DynType)), func(o map[string]any) (ref.Val, error) {
			owner := controllerIn(o)
			if owner == nil {
				return types.OptionalNone, nil
			}
			return types.OptionalOf(types.DefaultTypeAdapter.NativeToValue(owner)), nil
		}),
		cel.Function("condition", cel.Overload("condition_any", []*cel.Type{cel.DynType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(o, kind ref.Val) ref.Val { return types.Bool(conditionAt(native(o), kind) != nil) }))),
		cel.Function("conditionTime",
			cel.Overload("conditionTime_one", []*cel.Type{cel.DynType, cel.StringType}, moments, cel.BinaryBinding(conditionTime)),
			cel.Overload("conditionTime_many", []*cel.Type{cel.DynType, cel.ListType(cel.StringType)}, moments, cel.BinaryBinding(conditionTime))),
		cel.Function("days",
			cel.Overload("days_int", []*cel.Type{cel.IntType}, cel.DurationType, cel.UnaryBinding(days)),
			cel.Overload("days_double", []*cel.Type{cel.DoubleType}, cel.DurationType, cel.UnaryBinding(days))),
	}
}

func asked(name string, result *cel.Type, f func(map[string]any) (ref.Val, error)) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_any", []*cel.Type{cel.DynType}, result, cel.UnaryBinding(func(o ref.Val) ref.Val {
		value, err := f(native(o))
		if err != nil {
			return types.WrapErr(err)
		}
		return value
	})))
}

func native(o ref.Val) map[string]any {
	m, _ := o.Value().(map[string]any)
	return m
}

func optionalTime(t time.Time) ref.Val {
	if t.IsZero() {
		return types.OptionalNone
	}
	return types.OptionalOf(types.Timestamp{Time: t})
}

func days(n ref.Val) ref.Val {
	var count float64
	switch x := n.(type) {
	case types.Int:
		count = float64(x)
	case types.Double:
		count = float64(x)
	}
	if span := count * float64(24*time.Hour); math.Abs(span) < math.MaxInt64 {
		return types.Duration{Duration: time.Duration(span)}
	}
	return types.NewErr("too many days")
}

// end describes how an object ended.
type end struct {
	ended, well, badly bool
	at                 time.Time
}

// endOf supports the kinds that tests use.
func endOf(o map[string]any) (end, error) {
	version, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	switch {
	case version == "batch/v1" && kind == "Job":
		return endByConditions(o, "Complete", "Failed"), nil
	case version == "v1" && kind == "Pod":
		return endOfPod(o), nil
	case version == "v1" && slices.Contains([]string{"ConfigMap", "Secret", "ServiceAccount", "Service"}, kind):
		return end{}, fmt.Errorf("a %s never finishes", kind)
	default:
		return end{}, fmt.Errorf("%w: the end of a %s %s", errUnsupported, version, kind)
	}
}

func endByConditions(o map[string]any, well, badly string) end {
	if c := conditionOf(o, well); c != nil {
		return end{ended: true, well: true, at: timeIn(c, "lastTransitionTime")}
	}
	if c := conditionOf(o, badly); c != nil {
		return end{ended: true, badly: true, at: timeIn(c, "lastTransitionTime")}
	}
	return end{}
}

// endOfPod returns the time when the last container ended. If a container does not report it, the conditions count too.
func endOfPod(o map[string]any) end {
	status := mapIn(o, "status")
	phase, _ := status["phase"].(string)
	e := end{ended: phase == "Succeeded" || phase == "Failed", well: phase == "Succeeded", badly: phase == "Failed"}
	if !e.ended {
		return e
	}
	all := append(mapsIn(status, "initContainerStatuses"), mapsIn(status, "containerStatuses")...)
	silent := len(all) == 0
	for _, container := range all {
		at := timeIn(mapIn(mapIn(container, "state"), "terminated"), "finishedAt")
		silent = silent || at.IsZero()
		e.at = latest(e.at, at)
	}
	if silent {
		for _, c := range mapsIn(status, "conditions") {
			e.at = latest(e.at, timeIn(c, "lastTransitionTime"))
		}
		e.at = latest(e.at, timeIn(status, "startTime"))
	}
	return e
}

func conditionOf(o map[string]any, kind string) map[string]any {
	for _, c := range mapsIn(mapIn(o, "status"), "conditions") {
		if c["type"] == kind && c["status"] == "True" {
			return c
		}
	}
	return nil
}

func conditionAt(o map[string]any, kind ref.Val) map[string]any {
	name, _ := kind.Value().(string)
	return conditionOf(o, name)
}

func conditionTime(o, kinds ref.Val) ref.Val {
	list, many := kinds.(traits.Lister)
	if !many {
		return optionalTime(timeIn(conditionAt(native(o), kinds), "lastTransitionTime"))
	}
	for i := types.Int(0); i < list.Size().(types.Int); i++ {
		if c := conditionAt(native(o), list.Get(i)); c != nil {
			return optionalTime(timeIn(c, "lastTransitionTime"))
		}
	}
	return types.OptionalNone
}

func controllerIn(o map[string]any) map[string]any {
	for _, owner := range mapsIn(mapIn(o, "metadata"), "ownerReferences") {
		if owner["controller"] == true {
			return map[string]any{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["name"], "uid": owner["uid"]}
		}
	}
	return nil
}

func mapIn(m map[string]any, field string) map[string]any {
	inner, _ := m[field].(map[string]any)
	return inner
}

func mapsIn(m map[string]any, field string) []map[string]any {
	list, _ := m[field].([]any)
	var all []map[string]any
	for _, one := range list {
		if inner, ok := one.(map[string]any); ok {
			all = append(all, inner)
		}
	}
	return all
}

func timeIn(m map[string]any, field string) time.Time {
	written, _ := m[field].(string)
	at, err := time.Parse(time.RFC3339, written)
	if err != nil {
		return time.Time{}
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
