// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/policy/timezone"
)

// inZone are the functions of a time in a time zone, by name, with the names of their overloads.
var inZone = map[string]string{
	overloads.TimeGetFullYear:     overloads.TimestampToYearWithTz,
	overloads.TimeGetMonth:        overloads.TimestampToMonthWithTz,
	overloads.TimeGetDayOfYear:    overloads.TimestampToDayOfYearWithTz,
	overloads.TimeGetDayOfMonth:   overloads.TimestampToDayOfMonthZeroBasedWithTz,
	overloads.TimeGetDate:         overloads.TimestampToDayOfMonthOneBasedWithTz,
	overloads.TimeGetDayOfWeek:    overloads.TimestampToDayOfWeekWithTz,
	overloads.TimeGetHours:        overloads.TimestampToHoursWithTz,
	overloads.TimeGetMinutes:      overloads.TimestampToMinutesWithTz,
	overloads.TimeGetSeconds:      overloads.TimestampToSecondsWithTz,
	overloads.TimeGetMilliseconds: overloads.TimestampToMillisecondsWithTz,
}

// timeZoneOptions replaces the implementations of these functions. Those of cel-go read the time zones of the machine.
func timeZoneOptions() []cel.EnvOption {
	var options []cel.EnvOption
	for name, overload := range inZone {
		options = append(options, cel.Function(name, cel.MemberOverload(overload,
			[]*cel.Type{cel.TimestampType, cel.StringType}, cel.IntType, cel.BinaryBinding(partInZone(name, overload)))))
	}
	return options
}

// partInZone returns the same part of a time as cel-go does.
func partInZone(name, overload string) func(t, zone ref.Val) ref.Val {
	return func(v, zone ref.Val) ref.Val {
		t, isTime := v.(types.Timestamp)
		text, isText := zone.(types.String)
		switch {
		case !isTime || !isText:
			return types.MaybeNoSuchOverloadErr(zone)
		case strings.Contains(string(text), ":"): // an offset, such as +02:00
			return t.Receive(name, overload, []ref.Val{zone})
		}
		location, err := zoneOf(string(text))
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Timestamp{Time: t.In(location)}.Receive(name, overload, nil)
	}
}

// zones are the time zones that expressions have used, by name. The tz database has a few hundred.
var zones sync.Map

func zoneOf(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	location, err := timezone.Load(name)
	if err == nil {
		zones.Store(name, location)
	}
	return location, err
}
