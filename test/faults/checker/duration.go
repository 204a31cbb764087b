// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"time"
)

var (
	wholeDuration = regexp.MustCompile(`^((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w))+$`)
	durationPart  = regexp.MustCompile(`(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w)`)
)

var units = map[string]time.Duration{
	"ns": 1, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
}

var errNoDuration = errors.New("not a duration")

// duration parses "90m", "1d12h", "2w", "0".
func duration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	if !wholeDuration.MatchString(text) {
		return 0, errNoDuration
	}
	var total float64
	var exact time.Duration
	for _, part := range durationPart.FindAllStringSubmatch(text, -1) {
		number, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, errNoDuration
		}
		total += number * float64(units[part[2]])
		whole, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil {
			exact = -1
		} else if exact >= 0 {
			exact += time.Duration(whole) * units[part[2]]
		}
	}
	switch {
	case total > math.MaxInt64:
		return 0, errNoDuration
	case exact >= 0:
		return exact, nil
	}
	return time.Duration(total), nil
}

// optionalDuration returns nil for an empty text.
func optionalDuration(text string) (*time.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := duration(text)
	return &d, err
}
