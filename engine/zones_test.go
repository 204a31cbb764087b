// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // independent of the machine

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestF24NoTimeZoneMatters decides around changes of daylight saving time, leap days and the end of a year, in several
// time zones. A day always has 24 hours, and the due time is the same in every zone.
func TestF24NoTimeZoneMatters(t *testing.T) {
	finished := map[string]time.Time{
		"the night of the change to summer time in Berlin":           time.Date(2026, time.March, 28, 12, 0, 0, 0, time.UTC),
		"the hour that does not exist there":                         time.Date(2026, time.March, 29, 0, 59, 59, 0, time.UTC),
		"the night of the change to winter time":                     time.Date(2026, time.October, 24, 22, 30, 0, 0, time.UTC),
		"the repeated hour, first time":                              time.Date(2026, time.October, 25, 0, 30, 0, 0, time.UTC),
		"the repeated hour, second time":                             time.Date(2026, time.October, 25, 1, 30, 0, 0, time.UTC),
		"the day before a leap day":                                  time.Date(2028, time.February, 28, 23, 59, 59, 0, time.UTC),
		"a leap day":                                                 time.Date(2028, time.February, 29, 0, 0, 0, 0, time.UTC),
		"the end of February without a leap day":                     time.Date(2027, time.February, 28, 12, 0, 0, 0, time.UTC),
		"the turn of a year":                                         time.Date(2026, time.December, 31, 23, 59, 59, 0, time.UTC),
		"the night of the change to summer time on Lord Howe Island": time.Date(2026, time.October, 3, 15, 15, 0, 0, time.UTC),
	}
	c, told := fixture.Compiler(t), map[string]string{}
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Kiritimati"} {
		setLocal(t, zone)
		for name, at := range finished {
			for _, ttl := range []string{"0s", "1h", "1d", "3d12h", "1w", "366d"} {
				key := name + " " + ttl
				got := decideAround(t, c, at, ttl)
				if before, known := told[key]; known && before != got {
					t.Errorf("%s: -before, +in %s\n%s", key, zone, cmp.Diff(before, got))
				}
				told[key] = got
			}
		}
	}
}

// TestZonesOfExpressionsIgnoreTheMachine: neither ZONEINFO nor the time zone of the process changes a result, and each function
// gives the same part of a time as with an offset.
func TestZonesOfExpressionsIgnoreTheMachine(t *testing.T) {
	if os.Getenv("ZONEINFO") == "" { // a process reads it only once
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "ZONEINFO="+otherBerlin(t))
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	setLocal(t, "Europe/Berlin")
	if hour := time.Unix(0, 0).Hour(); hour != 9 {
		t.Fatalf("at %d o'clock, Europe/Berlin is not nine hours ahead of UTC in this process", hour)
	}
	c, input := fixture.Compiler(t), map[string]any{"t": "2026-12-31T23:15:30.25Z", "zone": "Europe/Berlin"}
	for _, part := range []string{"FullYear", "Month", "DayOfYear", "DayOfMonth", "Date", "DayOfWeek", "Hours", "Minutes", "Seconds", "Milliseconds"} {
		get := "timestamp(object.t).get" + part
		mustHold(t, c, get+"('Europe/Berlin') == "+get+"('+01:00') && dyn("+get+"(object.zone)) == "+get+"('01:00')", input)
		mustHold(t, c, get+"('') == "+get+"() && "+get+"('UTC') == "+get+"('-00:00')", input)
		mustHold(t, c, "dyn(timestamp(object.t)).get"+part+"('Europe/Berlin') == "+get+"('+01:00')", input)
	}
	for _, zone := range []string{"'Local'", "'Mars/Olympus'", "'../etc/localtime'"} {
		e, ok := c.Expression("timestamp(object.t).getHours(" + zone + ") == 1")
		expect.Equal(t, "compiles", true, ok)
		if v, err := e.Value(input); err == nil || !strings.Contains(err.Error(), "unknown time zone") {
			t.Errorf("%s: %v, %v", zone, v, err)
		}
	}
}

// otherBerlin returns a directory in which the file of Europe/Berlin says that it is nine hours ahead of UTC.
func otherBerlin(t *testing.T) string {
	t.Helper()
	file := append([]byte("TZif"), make([]byte, 16+6*4)...)
	file[len("TZif")+16+4*4+3], file[len("TZif")+16+5*4+3] = 1, 4 // the number of offsets, and the length of their names
	file = binary.BigEndian.AppendUint32(file, 9*60*60)
	file = append(file, 0, 0, 'J', 'S', 'T', 0)
	dir := t.TempDir()
	expect.NoError(t, os.MkdirAll(filepath.Join(dir, "Europe"), 0o700))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "Europe", "Berlin"), file, 0o600))
	return dir
}

// setLocal sets the time zone of the process, as TZ does.
func setLocal(t *testing.T, name string) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	expect.NoError(t, err)
	before := time.Local
	time.Local = zone
	t.Cleanup(func() { time.Local = before })
}

// decideAround decides on a Job a nanosecond before it is due and when it is due, and returns a text of the decision.
func decideAround(t *testing.T, c *engine.Compiler, at time.Time, ttl string) string {
	t.Helper()
	stamp := at.UTC().Format(time.RFC3339)
	job := fixture.Decode(t, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {name: a, creationTimestamp: %q},
		status: {completionTime: %q, conditions: [{type: Complete, status: "True", lastTransitionTime: %q}]}}`, stamp, stamp, stamp))
	spec := rule()
	spec.TTL = ttl
	p := (&policy.Document{Spec: policy.Spec{Mode: "Enforce"}})
	p.Spec.Rules = append(p.Spec.Rules, spec)
	loaded := p.Load(policy.DefaultProtection())
	programs := c.Load(loaded)
	r := loaded.Rules[0]
	subject, err := engine.SubjectOf(job)
	expect.NoError(t, err)
	evaluations := []policy.Evaluation{{Rule: r, Facts: programs[r.Key].Facts(t.Context(), job), Known: true}}
	life, err := policy.ParseTTL(ttl)
	expect.NoError(t, err)
	due := at.Add(life)
	early, _ := policy.Decide(subject, evaluations, due.Add(-time.Nanosecond).Local())
	v, w := policy.Decide(subject, evaluations, due.Local())
	if early.Action == policy.Delete || v.Action != policy.Delete || !v.Due.Equal(due) || !w.Valid() {
		t.Errorf("finished %s, ttl %s: %+v, and a nanosecond earlier %+v", stamp, ttl, v, early)
	}
	return fmt.Sprintf("%+v %+v %s %s", v, subject, v.Due, policy.FormatTTL(v.TTL))
}
