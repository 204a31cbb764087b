// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestParseTTL(t *testing.T) {
	tests := map[string]struct {
		text string
		want time.Duration
	}{
		"zero":                         {"0s", 0},
		"zero without a unit":          {"0", 0},
		"Go units":                     {"1h30m", 90 * time.Minute},
		"days":                         {"7d", 7 * policy.Day},
		"weeks":                        {"2w", 14 * policy.Day},
		"days and Go units":            {"1d12h", 36 * time.Hour},
		"a fraction of a day":          {"1.5d", 36 * time.Hour},
		"small units":                  {"1ms2us3ns", time.Millisecond + 2*time.Microsecond + 3},
		"a unit twice adds up":         {"1d1d", 48 * time.Hour},
		"the last second of 292 years": {"9223372036s", math.MaxInt64 / time.Second * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := policy.ParseTTL(test.text)
			if err != nil || got != test.want {
				t.Errorf("ParseTTL(%q) = %v, %v, want %v", test.text, got, err, test.want)
			}
		})
	}
}

func TestParseTTLRefuses(t *testing.T) {
	tests := map[string]string{
		"an empty text":                      "",
		"a number without a unit":            "30",
		"a unit without a number":            "d",
		"a negative duration":                "-1h",
		"a sign":                             "+1h",
		"a word":                             "forever",
		"an unknown unit":                    "1y",
		"a month, which has no fixed length": "1mo",
		"space before":                       " 1h",
		"space inside":                       "1 h",
		"space after":                        "1h ",
		"an exponent":                        "1e3s",
		"two points":                         "1..5h",
		"a point alone":                      ".h",
		"a unit in capitals":                 "1D",
		"a trailing number":                  "1h5",
		"more than 292 years":                "106752d",
		"more than 292 years in sum":         "15000w15000w",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := policy.ParseTTL(text); err == nil {
				t.Errorf("ParseTTL(%q) = %v, want an error", text, got)
			}
		})
	}
}

func TestFormatTTL(t *testing.T) {
	tests := map[string]struct {
		ttl  time.Duration
		want string
	}{
		"zero":                {0, "0s"},
		"seconds":             {90 * time.Second, "1m30s"},
		"whole hours":         {2 * time.Hour, "2h"},
		"whole minutes":       {10 * time.Minute, "10m"},
		"hours and seconds":   {time.Hour + time.Second, "1h0m1s"},
		"whole days":          {policy.Week, "7d"},
		"days and hours":      {36 * time.Hour, "1d12h"},
		"days and a fraction": {policy.Day + time.Millisecond, "1d1ms"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, fmt.Sprintf("FormatTTL(%v)", test.ttl), test.want, policy.FormatTTL(test.ttl))
		})
	}
}

func TestParseTTLReadsWhatFormatTTLWrites(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 10_000 {
		ttl := time.Duration(random.Int63() >> random.Intn(63))
		got, err := policy.ParseTTL(policy.FormatTTL(ttl))
		if err != nil || got != ttl {
			t.Fatalf("%d becomes %q, which is parsed as %d, %v", ttl, policy.FormatTTL(ttl), got, err)
		}
	}
}
