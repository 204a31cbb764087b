// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestFactRowKeepsSubjectAndFacts: a row returns the subject and facts that it was made from.
func TestFactRowKeepsSubjectAndFacts(t *testing.T) {
	failed := errors.New("no such key: status")
	subjects := map[string]policy.Subject{
		"a Job":                        {Namespace: "team-a", Name: "nightly", UID: "uid-1", ResourceVersion: "17", Created: now, Flags: policy.IsHeld},
		"empty":                        {},
		"no version":                   {Name: "x", UID: "y"},
		"a long name":                  {Name: strings.Repeat("n", 32_767), UID: types.UID(strings.Repeat("u", 32_767)), ResourceVersion: "1"},
		"created in 1600":              {Created: time.Date(1600, time.January, 1, 0, 0, 0, 1_000, time.UTC)},
		"created in 9999":              {Created: time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC)},
		"created in another time zone": {Created: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.FixedZone("", 3600))},
	}
	facts := []policy.Facts{
		{},
		{Selected: true, Eligible: true, Start: now.Add(time.Nanosecond), TTL: time.Hour},
		{Selected: true, Eligible: true, TTL: policy.NeverTTL},
		{Selected: true, Eligible: true, Start: time.Unix(0, 0).UTC()},
		{Selected: true, Err: failed},
		{Selected: true, Eligible: true, Start: now, Group: "import"},
		{Selected: true, Eligible: true, Start: now, Group: "app", Also: []string{"base", "tools"}},
		{Selected: true, Eligible: true, Start: now, FirstSeen: now.Add(-time.Hour), Unpullable: true},
		{Selected: true, Also: []string{"a group besides the empty one"}},
		{Selected: true, Eligible: true, Start: now, Owner: &policy.Owner{Kind: fixture.Jobs, Name: "p", UID: "uid-p"}},
		{Selected: true, Err: failed, Marked: true, Start: now},
		{Marked: true, Start: now},
		{Selected: true, Eligible: true, Marked: true, Start: now, EarlierMark: now.Add(-time.Hour)},
		{Selected: true, Eligible: true, Start: now, NotBefore: now.Add(policy.QuietPeriod + 1)},
		{Selected: true, Eligible: true, Start: now, Marked: true, Estimated: true},
		{Selected: true, Eligible: true, Start: now, Size: policy.Size{Bytes: 10 << 30, Class: "fast"}},
	}
	for name, subject := range subjects {
		t.Run(name, func(t *testing.T) {
			row := index.NewFactRow(subject, index.NewColumns(strings.Split("abcdefghijklmnopqr"[:len(facts)], "")...), facts...)
			sameTimes := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.IsZero() == b.IsZero() })
			expect.Equal(t, "subject", subject, row.Subject(), sameTimes)
			expect.Equal(t, "facts", facts, row.Facts(), sameTimes, cmpopts.EquateErrors())
		})
	}
}

// TestCreationIsRoundedUp: images have a time of creation with nanoseconds. No subject may be older than it was.
func TestCreationIsRoundedUp(t *testing.T) {
	for nanos, want := range map[time.Duration]time.Duration{0: 0, 1: 1_000, 999: 1_000, 1_000: 1_000, 999_999_999: time.Second} {
		got := index.NewFactRow(policy.Subject{Created: now.Add(nanos)}, index.NewColumns()).Subject().Created
		expect.Equal(t, fmt.Sprintf("created %d ns after a second", nanos), now.Add(want), got)
	}
}

func TestSubjectListedTwiceIsOne(t *testing.T) {
	w := newHarness(t, nil)
	w.Replace(w.listing, nil, now)
	w.SetSnapshot(snapshotOf(fixture.Rule("a")), now)
	w.Replace(index.Listing{ID: 7, Kind: fixture.Jobs, Layout: columns["a"]},
		[]*index.FactRow{row("x", now), row("y", now), row("x", now.Add(time.Hour), at("2"))}, now)
	if subjects, _ := w.Len(); subjects != 2 {
		t.Errorf("%d subjects", subjects)
	}
	if s, _ := w.Subject("x"); s.ResourceVersion != "2" {
		t.Errorf("version %s", s.ResourceVersion)
	}
	if err := w.Consistent(); err != nil {
		t.Error(err)
	}
}

// TestTooLongNameIsTruncated: the other fields of the row are unchanged. The sizes of rows and notes must not grow.
func TestTooLongNameIsTruncated(t *testing.T) {
	s := policy.Subject{Name: strings.Repeat("n", 70_000), UID: types.UID(strings.Repeat("u", 70_000)), ResourceVersion: "1", Created: now}
	got := index.NewFactRow(s, columns["a"]).Subject()
	s.Name, s.UID = s.Name[:32_767], s.UID[:32_767]
	if got != s {
		t.Errorf("%d characters, %s@%s", len(got.Name), got.UID, got.ResourceVersion)
	}
	if index.RowSize > 96 {
		t.Errorf("a row has %d bytes; above 96 bytes Go allocates 112", index.RowSize)
	}
	if index.NoteSize > 128 {
		t.Errorf("a note has %d bytes; above 128 bytes Go allocates 144", index.NoteSize)
	}
}
