// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

var (
	component = regexp.MustCompile(`^([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w)`)
	units     = map[string]int64{
		"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9, "d": 24 * 3600e9, "w": 7 * 24 * 3600e9,
	}
)

// naiveTTL reads a TTL with exact arithmetic: the sum of its parts in nanoseconds. parts is 0 if the text is not a TTL.
func naiveTTL(text string) (sum *big.Rat, parts int) {
	sum = new(big.Rat)
	if text == "0" {
		return sum, 1
	}
	for text != "" {
		found := component.FindStringSubmatch(text)
		if found == nil {
			return nil, 0
		}
		number, ok := new(big.Rat).SetString(found[1])
		if !ok {
			return nil, 0
		}
		sum.Add(sum, number.Mul(number, new(big.Rat).SetInt64(units[found[2]])))
		text, parts = text[len(found[0]):], parts+1
	}
	return sum, parts
}

// FuzzTTL compares with exact arithmetic. A TTL is never longer, and shorter only by the rounding of each part. A text that is
// not a TTL, or too long, is an error and never a short time.
func FuzzTTL(f *testing.F) {
	for _, text := range []string{"", "0", "0s", "1d12h", "2w", "1.5d", ".5h", "5.h", "-1h", "+1h", "1e3s", "106751d", "106752d", "15250w", "292y", "1 d", "٣h", "1d-1h", "9223372036854775807ns", "0.0000000001w"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := policy.ParseTTL(text)
		want, parts := naiveTTL(text)
		switch longest := new(big.Rat).SetInt64(math.MaxInt64); {
		case parts == 0:
			if err == nil {
				t.Fatalf("%q is parsed as %s", text, got)
			}
			return
		case err != nil:
			if want.Cmp(new(big.Rat).Mul(longest, big.NewRat(9, 10))) < 0 && len(text) < 100 {
				t.Errorf("%q is refused: %v", text, err)
			}
			return
		}
		cut := new(big.Rat).Sub(want, new(big.Rat).SetInt64(int64(got)))
		if got < 0 || cut.Sign() < 0 || cut.Cmp(new(big.Rat).SetInt64(int64(parts)*7*24)) >= 0 {
			t.Errorf("%q is parsed as %s, want %s ns", text, got, want.FloatString(3))
		}
		if again, err := policy.ParseTTL(policy.FormatTTL(got)); err != nil || again != got {
			t.Errorf("%s is written as %s, which is parsed as %s, %v", got, policy.FormatTTL(got), again, err)
		}
	})
}

// FuzzMarks reads any annotation as the marks of an object with two rules, and applies the patch. A valid mark does not move, and
// a new mark is not earlier than now. The patch removes marks of other rules, and of rules that do not find the object eligible.
func FuzzMarks(f *testing.F) {
	for i, text := range []string{
		``, `{}`, `null`, `[]`, `{"a":"2026-03-01T12:00:00Z"}`, `{"a":"2026-03-01T12:00:00.5+02:00","b":"soon","c":"2020-01-01T00:00:00Z"}`,
		`{"a":null}`, `{"a":1}`, `{"a":{"a":"2026-03-01T12:00:00Z"}}`, `{"a":"0001-01-01T00:00:00Z"}`, `{"a":"9999-12-31T23:59:59.999999999Z"}`,
		`{"a":"0000-01-01T00:00:00+01:00","b":"9999-12-31T23:59:59-01:00"}`, `{"a":"2026-03-01T12:00:00Z","a":"2020-01-01T00:00:00Z"}`, `{"a":"2026-03-01T12:00:00Z"`, `{"A":"2026-03-01T12:00:00Z","":""}`,
	} {
		f.Add(text, i%2 == 0, i%3 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, a, b bool) {
		marks := policy.ParseMarks(text)
		for name, at := range naiveMarks(text) {
			if got, ok := marks[name]; !ok || !got.Equal(at) || got.Location() != time.UTC {
				t.Errorf("mark %q is %s, want %s", name, got, at)
			}
		}
		if len(marks) != len(naiveMarks(text)) {
			t.Errorf("%q has marks %v", text, marks)
		}
		eligible := map[string]bool{"a": a, "b": b}
		m := policy.EligibleSincePatchOf(policy.Subject{}, evaluationsOf(marks, eligible), now)
		after := marks
		if m.Valid() {
			after = policy.ParseMarks(m.Annotation())
		} else if marks["a"].IsZero() == a || marks["b"].IsZero() == b {
			t.Fatalf("%q needs no patch, eligible are %v", text, eligible)
		}
		for name, is := range eligible {
			before, at := marks[name], after[name]
			switch {
			case !is && !at.IsZero(), is && !before.IsZero() && !at.Equal(before), is && before.IsZero() && (at.Before(now) || at.Sub(now) >= time.Second):
				t.Errorf("mark %q is %s, was %s in %q; eligible are %v", name, at, before, text, eligible)
			}
		}
		if m.Valid() && len(after) > 2 {
			t.Errorf("%s has marks of other rules", m.Annotation())
		}
	})
}

// naiveMarks are the times in a JSON object of strings that can be written again.
func naiveMarks(text string) map[string]time.Time {
	var all map[string]any
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	marks := map[string]time.Time{}
	for name, value := range all {
		written, isText := value.(string)
		if !isText && value != nil {
			return nil // not an annotation of Sunset
		}
		at, err := time.Parse(time.RFC3339, written)
		if again, errAgain := time.Parse(time.RFC3339, at.UTC().Format(time.RFC3339)); err == nil && errAgain == nil && again.Unix() == at.Unix() {
			marks[name] = at
		}
	}
	return marks
}

// evaluationsOf are the evaluations of rules a and b, which mark, for an object with these marks.
func evaluationsOf(marks map[string]time.Time, eligible map[string]bool) []policy.Evaluation {
	var all []policy.Evaluation
	for _, name := range []string{"a", "b"} {
		facts := policy.Facts{Selected: true, Eligible: eligible[name], Marked: true, Start: marks[name]}
		facts.Estimated = facts.Eligible && facts.Start.IsZero()
		all = append(all, policy.Evaluation{Rule: &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: name}, Mark: name, Mode: v1alpha1.Enforce}, Facts: facts, Known: true})
	}
	return all
}
