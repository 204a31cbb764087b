// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sunset-k8s/sunset/policy/timezone"
)

// Schedule is a cron schedule in a time zone. It does not change.
type Schedule struct{ starts *cron.SpecSchedule }

// LoadSchedule reads the fields schedule and timeZone below a path. The schedule is nil if there are problems.
func LoadSchedule(path, text, timeZone string) (*Schedule, []Problem) {
	zone, err := timezone.Load(timeZone)
	if err != nil {
		return nil, []Problem{{
			Path: path + ".timeZone", Message: fmt.Sprintf("%q is not a time zone", timeZone),
			Hint: "write a name of the tz database, such as Europe/Berlin, or leave it out for UTC",
		}}
	}
	starts, err := parseSchedule(text, zone)
	if err != nil {
		return nil, []Problem{{
			Path: path + ".schedule", Message: err.Error(), Hint: `write minute, hour, day of month, month and day of week, such as "0 22 * * 1-5"`,
		}}
	}
	return &Schedule{starts}, nil
}

// parseSchedule reads a schedule as the CronJob controller does.
func parseSchedule(text string, zone *time.Location) (*cron.SpecSchedule, error) {
	if text == "" {
		return nil, errors.New("missing")
	}
	if strings.Contains(text, "TZ") {
		return nil, errors.New("the time zone belongs in timeZone")
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	schedule, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("%q is an interval, which has no fixed times", text)
	}
	schedule.Location = zone
	if leapYear := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC); schedule.Next(leapYear).IsZero() {
		return nil, fmt.Errorf("%q never occurs", text)
	}
	return schedule, nil
}

// longestPause is longer than any time between two starts of a schedule: from 29 February 2096 to 29 February 2104 it is eight
// years.
const longestPause = 9 * 366 * Day

// Next is the first start after a time; a time after all others if there is none.
func (s *Schedule) Next(t time.Time) time.Time {
	t = t.UTC()
	for range 2 {
		if start := s.starts.Next(t); !start.IsZero() {
			return start
		}
		t = t.AddDate(4, 0, 0) // cron searches five years
	}
	return lastTime
}

// Last is the last start before a time. Zero if there is none.
func (s *Schedule) Last(t time.Time) (last time.Time) {
	for back := time.Hour; last.IsZero() && back < longestPause; back *= 2 {
		for start := s.Next(t.Add(-back)); start.Before(t); start = s.Next(start) {
			last = start
		}
	}
	return last
}

// Location is the time zone of the schedule.
func (s *Schedule) Location() *time.Location { return s.starts.Location }
