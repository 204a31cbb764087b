// SPDX-License-Identifier: Apache-2.0

// Package version returns the version of a program. It promises a value for every build: the values that the linker set for a
// release, or the values that Go recorded about the build, or "unknown".
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/sunset-k8s/sunset/policy/timezone"
)

// The linker sets these for a release: -ldflags "-X github.com/sunset-k8s/sunset/controllers/process/version.version=v1.2.3".
var version, commit, date string

// Info describes a build. No field is empty.
type Info struct {
	Version string // such as v1.2.3, or Go's version of a build between releases; "devel" without one
	Commit  string // in full; "unknown" if Go recorded none, for example in tests
	Date    string // of the commit, in RFC 3339, so that builds are reproducible; or "unknown"
	Go      string // the version of Go that built the program
	TZData  string // the version of the tz database for windows, such as 2025c
}

const unknown = "unknown"

// Get returns the build of the running program.
func Get() Info {
	recorded, _ := debug.ReadBuildInfo()
	return combine(Info{Version: version, Commit: commit, Date: date}, recorded)
}

// combine fills the fields that the linker did not set with the values that Go recorded; recorded may be nil.
func combine(stamped Info, recorded *debug.BuildInfo) Info {
	var found Info
	if recorded != nil {
		found.Version = recorded.Main.Version
		for _, s := range recorded.Settings {
			switch s.Key {
			case "vcs.revision":
				found.Commit = s.Value
			case "vcs.time":
				found.Date = s.Value
			}
		}
	}
	if found.Version == "(devel)" {
		found.Version = "" // a User-Agent must not contain parentheses here
	}
	return Info{
		Version: cmp.Or(stamped.Version, found.Version, "devel"),
		Commit:  cmp.Or(stamped.Commit, found.Commit, unknown),
		Date:    cmp.Or(stamped.Date, found.Date, unknown),
		Go:      runtime.Version(),
		TZData:  timezone.Version(),
	}
}

// Line returns the output of a program's --version.
func (i Info) Line(program string) string {
	return fmt.Sprintf("%s %s (commit %s of %s, %s, tzdata %s, %s/%s)", program, i.Version, i.Commit, i.Date, i.Go, i.TZData, runtime.GOOS, runtime.GOARCH)
}

// UserAgent returns the User-Agent of a program's requests, for example for audit logs.
func (i Info) UserAgent(program string) string {
	return fmt.Sprintf("%s/%s (commit %.12s; %s)", program, i.Version, i.Commit, i.Date)
}

// Metric and MetricHelp describe the gauge with which a program exports its build. Its value is 1.
const (
	Metric     = "sunset_build_info"
	MetricHelp = "1, with the version, commit, commit date, Go version and version of the tz database of this program."
)

// MetricLabels is the names of the labels of Metric.
var MetricLabels = []string{"version", "commit", "date", "goversion", "tzdata"}

// MetricValues returns the values of MetricLabels.
func (i Info) MetricValues() []string { return []string{i.Version, i.Commit, i.Date, i.Go, i.TZData} }
