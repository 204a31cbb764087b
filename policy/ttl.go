// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Day and Week are d and w in a TTL: fixed durations, independent of calendar and time zone.
const (
	Day  = 24 * time.Hour
	Week = 7 * Day
)

// ParseTTL reads a time to live: Go duration units plus d and w, such as "90m", "1d12h" or "2w". It is never negative.
func ParseTTL(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("empty; write a duration such as 30m, 7d or 0s")
	}
	if s == "0" {
		return 0, nil
	}
	var total time.Duration
	for rest := s; rest != ""; {
		number, unit, tail := cutComponent(rest)
		if number == "" || unit == "" {
			return 0, fmt.Errorf("%q %w", s, errNoDuration)
		}
		d, err := component(number, unit)
		if err != nil {
			return 0, fmt.Errorf("%q %w", s, err)
		}
		if total > math.MaxInt64-d {
			return 0, fmt.Errorf("%q %w", s, errTooLong)
		}
		total += d
		rest = tail
	}
	return total, nil
}

var (
	errNoDuration = errors.New("is not a duration; write a number and a unit such as 30m, 7d or 1d12h")
	errTooLong    = errors.New("is longer than 292 years")
)

// cutComponent splits "1d12h" into "1", "d" and "12h".
func cutComponent(s string) (number, unit, tail string) {
	const digits = "0123456789."
	n := len(s) - len(strings.TrimLeft(s, digits))
	number, s = s[:n], s[n:]
	if u := strings.IndexAny(s, digits); u >= 0 {
		return number, s[:u], s[u:]
	}
	return number, s, ""
}

func component(number, unit string) (time.Duration, error) {
	times := time.Duration(1)
	base := unit
	switch unit {
	case "d":
		base, times = "h", 24
	case "w":
		base, times = "h", 7*24
	}
	d, err := time.ParseDuration(number + base)
	_, noNumber := strconv.ParseFloat(number, 64)
	_, noUnit := time.ParseDuration("0" + base)
	switch {
	case noNumber != nil || noUnit != nil:
		return 0, errNoDuration
	case err != nil || d > math.MaxInt64/times:
		return 0, errTooLong
	default:
		return d * times, nil
	}
}

// TTLHint is what to write instead of a time to live that ParseTTL cannot read; empty if that is unknown.
func TTLHint(s string) string {
	if joined := strings.Join(strings.Fields(s), ""); joined != s {
		if _, err := ParseTTL(joined); err == nil {
			return "write " + joined
		}
	}
	parts := spelledTTL.FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if parts == nil {
		return ""
	}
	if unit := parts[2]; strings.HasPrefix(unit, "mo") || unit[0] == 'y' || strings.HasSuffix(strings.TrimSpace(s), "M") {
		return "months and years differ in length: count days, such as 30d" // 1M may mean a month, and never a minute
	}
	if meant := parts[1] + parts[2][:1]; meant != s {
		return "write " + meant
	}
	return ""
}

// spelledTTL matches a duration in words.
var spelledTTL = regexp.MustCompile(`^(\d+)\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|mon?|months?|y|years?)$`)

// FormatTTL writes a duration as ParseTTL reads it, with whole days as d: "7d", "1d12h", "90s" as "1m30s".
func FormatTTL(d time.Duration) string {
	if d < Day {
		return trimZeroUnits(d)
	}
	days := fmt.Sprintf("%dd", d/Day)
	if d%Day == 0 {
		return days
	}
	return days + trimZeroUnits(d%Day)
}

// trimZeroUnits turns Go's 1h0m0s into 1h.
func trimZeroUnits(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
