// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/sunset-k8s/sunset/policy/timezone"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestInfoPrefersStampedValues(t *testing.T) {
	between := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260301120000-0123456789ab+dirty"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-03-01T12:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	for name, test := range map[string]struct {
		stamped  Info
		recorded *debug.BuildInfo
		want     Info
	}{
		"a release": {Info{Version: "v1.2.3", Commit: "c0ffee", Date: "2026-04-01T00:00:00Z"}, between,
			Info{Version: "v1.2.3", Commit: "c0ffee", Date: "2026-04-01T00:00:00Z"}},
		"only the version": {Info{Version: "v1.2.3"}, between,
			Info{Version: "v1.2.3", Commit: "0123456789abcdef", Date: "2026-03-01T12:00:00Z"}},
		"a checkout": {Info{}, between,
			Info{Version: "v0.0.0-20260301120000-0123456789ab+dirty", Commit: "0123456789abcdef", Date: "2026-03-01T12:00:00Z"}},
		"go install": {Info{}, &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			Info{Version: "v1.2.3", Commit: "unknown", Date: "unknown"}},
		"no git":               {Info{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Info{Version: "devel", Commit: "unknown", Date: "unknown"}},
		"no build information": {Info{}, nil, Info{Version: "devel", Commit: "unknown", Date: "unknown"}},
	} {
		test.want.Go, test.want.TZData = runtime.Version(), timezone.Version()
		expect.Equal(t, name, test.want, combine(test.stamped, test.recorded))
	}
}

func TestRequestsSayWhichBuildAsks(t *testing.T) {
	for want, build := range map[string]Info{
		"sunset/v1.2.3 (commit 0123456789ab; 2026-03-01T12:00:00Z)": {Version: "v1.2.3", Commit: "0123456789abcdef0123", Date: "2026-03-01T12:00:00Z"},
		"sunset/devel (commit unknown; unknown)":                    {Version: "devel", Commit: unknown, Date: unknown},
	} {
		expect.Equal(t, "user agent", want, build.UserAgent("sunset"))
	}
}
