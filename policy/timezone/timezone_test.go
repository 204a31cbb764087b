// SPDX-License-Identifier: Apache-2.0

package timezone_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/timezone"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestLoadIgnoresTheMachine: neither ZONEINFO nor the time zones of the machine have an effect.
func TestLoadIgnoresTheMachine(t *testing.T) {
	t.Setenv("ZONEINFO", t.TempDir())
	for name, offset := range map[string]string{"": "+0000", "UTC": "+0000", "Europe/Berlin": "+0200", "Asia/Kathmandu": "+0545", "Etc/GMT+3": "-0300"} {
		zone, err := timezone.Load(name)
		expect.NoError(t, err)
		expect.Equal(t, name, offset, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).In(zone).Format("-0700"))
	}
}

func TestLoadUnknown(t *testing.T) {
	for _, name := range []string{"Europe/Bonn", "Europe/", "Europe", "Local", "../etc/passwd", "europe/berlin"} {
		if zone, err := timezone.Load(name); err == nil {
			t.Errorf("%q is %s", name, zone)
		}
	}
}

func TestVersion(t *testing.T) {
	if !regexp.MustCompile(`^20\d\d[a-z]$`).MatchString(timezone.Version()) {
		t.Errorf("version %q", timezone.Version())
	}
}
