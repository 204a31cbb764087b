// Package version says which build of Sunset a program is. It promises an answer for every build: what a release was stamped
// with, else what Go recorded about the build, else that it is unknown.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// What a release is stamped with, by the linker: -ldflags "-X github.com/sunset-k8s/sunset/controllers/process/version.version=v1.2.3".
var version, commit, date string

// Info is what is known about a build. No field is empty.
type Info struct {
	Version string // as v1.2.3, or what Go calls a build between releases; "devel" where there is none
	Commit  string // in full; "unknown" where nothing was recorded, as in tests
	Date    string // of the commit, in RFC 3339, so that the same sources give the same program; or "unknown"
	Go      string // the version of Go that built it
}

const unknown = "unknown"

// Get is the build of the program that runs.
func Get() Info {
	recorded, _ := debug.ReadBuildInfo()
	return combine(Info{Version: version, Commit: commit, Date: date}, recorded)
}

// combine fills what was not stamped with what Go recorded, which may be nothing.
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
		found.Version = "" // it is no word of a User-Agent
	}
	return Info{
		Version: cmp.Or(stamped.Version, found.Version, "devel"),
		Commit:  cmp.Or(stamped.Commit, found.Commit, unknown),
		Date:    cmp.Or(stamped.Date, found.Date, unknown),
		Go:      runtime.Version(),
	}
}

// Line is what a program says when it is asked for its version.
func (i Info) Line(program string) string {
	return fmt.Sprintf("%s %s (commit %s of %s, %s, %s/%s)", program, i.Version, i.Commit, i.Date, i.Go, runtime.GOOS, runtime.GOARCH)
}

// UserAgent is how a program introduces itself to the API server, as audit logs and priority and fairness see it.
func (i Info) UserAgent(program string) string {
	return fmt.Sprintf("%s/%s (commit %.12s; %s)", program, i.Version, i.Commit, i.Date)
}

// Metric, its help and its labels are how a program exports its build, with the value 1.
const (
	Metric     = "sunset_build_info"
	MetricHelp = "1, with the version, commit, date of the commit and Go version that this program was built from."
)

// MetricLabels are the names of the labels of Metric.
var MetricLabels = []string{"version", "commit", "date", "goversion"}

// MetricValues are the values of MetricLabels.
func (i Info) MetricValues() []string { return []string{i.Version, i.Commit, i.Date, i.Go} }
