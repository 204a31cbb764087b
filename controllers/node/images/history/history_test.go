// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/test/expect"
)

// listed returns a listing of images. Those with a star are in use.
func listed(images string) []history.Seen {
	var seen []history.Seen
	for _, id := range strings.Fields(images) {
		id, inUse := strings.CutSuffix(id, "*")
		seen = append(seen, history.Seen{ID: id, InUse: inUse})
	}
	return seen
}

// observed returns a History of listings that are one interval apart.
func observed(listings ...string) *history.History {
	h := history.New(gap)
	for i, images := range listings {
		h.Observe(reading(time.Duration(i)*interval), listed(images))
	}
	return h
}

func TestAges(t *testing.T) {
	const m = interval
	for name, c := range map[string]struct {
		listings  []string
		unused    time.Duration // of image a
		neverUsed bool
		inUse     bool
		isUnknown bool
	}{
		"an image that was never used ages from when it was first seen":       {listings: []string{"b", "a b", "a b", "a b"}, unused: 2 * m, neverUsed: true},
		"an image in use does not age":                                        {listings: []string{"a", "a", "a*"}, inUse: true},
		"an image in use may have been used until the next listing":           {listings: []string{"a*", "a*", "a", "a"}, unused: m},
		"a missing image is forgotten":                                        {listings: []string{"a b", "b"}, isUnknown: true},
		"the age of an image that comes back starts again":                    {listings: []string{"a* b", "a b", "b", "a b", "a b"}, unused: m, neverUsed: true},
		"an image that is listed twice is in use if the first line says so":   {listings: []string{"a b", "a* b a"}, inUse: true},
		"an image that is listed twice is in use if the last line says so":    {listings: []string{"a b", "a b a*"}, inUse: true},
		"a new image that is listed twice is in use if the last line says so": {listings: []string{"b", "a b a*"}, inUse: true},
		"no image has a record while a listing is empty":                      {listings: []string{"a b", ""}, isUnknown: true},
		"an empty listing was wrong if all images are back":                   {listings: []string{"a b", "a b", "", "", "b a c", "a b c"}, unused: 2 * m, neverUsed: true},
		"an empty listing was correct if an image is missing":                 {listings: []string{"a* b", "a b", "a b", "", "a c", "a c"}, unused: m, neverUsed: true},
		"an empty listing was correct, and an image is in use":                {listings: []string{"a b", "", "a*", "a", "a"}, unused: m},
		"no image has a record on a node without images":                      {listings: []string{"", ""}, isUnknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := observed(c.listings...).Of("a")
			switch {
			case ok == c.isUnknown:
				t.Errorf("known: %v", ok)
			case r.UnusedFor != c.unused || r.InUse != c.inUse:
				t.Errorf("unused for %v, in use %v", r.UnusedFor, r.InUse)
			case ok && r.LastUsed.IsZero() != c.neverUsed:
				t.Errorf("last used at %v", r.LastUsed)
			}
		})
	}
}

func TestTimesStayPutAndStepWithTheWallClock(t *testing.T) {
	h := history.New(gap)
	at := reading(0)
	listing := listed("a b*")
	h.Observe(at, listing)
	first, _ := h.Of("a")
	for i := range 1000 {
		at.Boot += interval
		at.Wall = at.Wall.Add(interval + time.Duration(i%7-3)*time.Millisecond) // the two clocks are not read at the same moment
		if o := h.Observe(at, listing); o.Moved || o.Paused {
			t.Fatal(i, o)
		}
	}
	if now, _ := h.Of("a"); now.FirstSeen != first.FirstSeen || !now.LastUsed.IsZero() {
		t.Errorf("%+v was %+v", now, first)
	}
	for _, step := range []time.Duration{time.Hour, -48 * time.Hour, 20 * 365 * 24 * time.Hour} {
		before, _ := h.Of("a")
		at.Wall = at.Wall.Add(step)
		if o := h.Observe(at, listing); !o.Moved {
			t.Errorf("a step by %v: %+v", step, o)
		}
		after, _ := h.Of("a")
		if moved := after.FirstSeen.Sub(before.FirstSeen); moved < step-slack || moved > step+slack || after.UnusedFor != before.UnusedFor {
			t.Errorf("a step by %v moved it by %v: %+v", step, moved, after)
		}
		if b, _ := h.Of("b"); b.LastUsed.Before(at.Wall) || b.LastUsed.After(at.Wall.Add(slack)) {
			t.Errorf("an image in use was last used at %v, and the time is %v", b.LastUsed, at.Wall)
		}
	}
}

func TestNodeThatWasOffForAMonth(t *testing.T) {
	h := observed("a", "a", "a")
	at := reading(30 * 24 * time.Hour)
	at.BootID, at.Boot = "another", time.Minute
	if o := h.Observe(at, listed("a")); !o.Paused || !o.Moved {
		t.Errorf("%+v", o)
	}
	r, _ := h.Of("a")
	if age := at.Wall.Sub(r.UnusedSince()); age > 2*interval || r.UnusedFor != 2*interval {
		t.Errorf("unused for %v by the wall clock, %v observed", age, r.UnusedFor)
	}
}

func TestHistoryAgesNothingWithoutABootID(t *testing.T) {
	h := history.New(gap)
	for i := range 3 {
		at := reading(time.Duration(i) * interval)
		at.BootID = ""
		h.Observe(at, listed("a"))
	}
	if r, ok := h.Of("a"); !ok || r.UnusedFor != 0 {
		t.Errorf("%+v", r)
	}
}

func TestListingThatBeganBeforeTheLastIsNotTaken(t *testing.T) {
	h := observed("a", "a", "a* b")
	if o := h.Observe(reading(interval), listed("a")); !o.Stale {
		t.Errorf("%+v", o)
	}
	if r, _ := h.Of("a"); !r.InUse || h.Len() != 2 {
		t.Errorf("%+v", r)
	}
}

func TestThoseKnownStayKnownWhenThereAreTooMany(t *testing.T) {
	var seen []history.Seen
	for i := range history.MaxImages + 10 {
		seen = append(seen, history.Seen{ID: fmt.Sprint(i)})
	}
	h := history.New(gap)
	h.Observe(reading(0), seen[:5])
	slices.Reverse(seen)
	o := h.Observe(reading(interval), seen)
	if r, ok := h.Of("4"); o.Untracked != 10 || h.Len() != history.MaxImages || !ok || r.UnusedFor != interval {
		t.Errorf("%d untracked, %+v", o.Untracked, r)
	}
	slices.Reverse(seen)
	if o := h.Observe(reading(2*interval), seen[10:]); o.Untracked != 0 || o.Moved {
		t.Errorf("the waiting images have no room: %+v", o)
	}
	absurd := []history.Seen{{ID: ""}, {ID: "\xff"}, {ID: strings.Repeat("x", 300)}, {ID: "a"}}
	if o := h.Observe(reading(3*interval), absurd); o.Untracked != 3 || h.Len() != 1 {
		t.Errorf("%+v", o)
	}
}

func TestPulledAgain(t *testing.T) {
	ids := func(removals []history.Removal) string {
		var ids []string
		for _, r := range removals {
			ids = append(ids, r.ID+strings.Join(r.Tags, ""))
		}
		return strings.Join(ids, " ")
	}
	h := observed("a b c", "a b c")
	h.Removed("a", []string{"z", "y", strings.Repeat("x", 1000)}, reading(interval+time.Second))
	h.Removed("b", nil, reading(interval+2*time.Second))
	if _, ok := h.Of("a"); ok {
		t.Error("a removed image has a record")
	}
	if o := h.Observe(reading(interval), listed("a b c")); o.PulledAgain != nil || h.Len() != 1 {
		t.Errorf("a listing from before the removal: %+v", o)
	}
	h.Observe(reading(2*interval), listed("c"))
	if o := h.Observe(reading(3*interval), listed("a c")); ids(o.PulledAgain) != "ayz" || !o.PulledAgain[0].PulledAgain.Equal(start.Add(3*interval)) {
		t.Errorf("%+v", o)
	}
	if o := h.Observe(reading(4*interval), listed("a c")); o.PulledAgain != nil {
		t.Errorf("reported twice: %+v", o)
	}
	expect.Equal(t, "pulled again", "ayz", ids(h.PulledAgain()))
	if o := h.Observe(reading(25*time.Hour), listed("a b c")); o.PulledAgain != nil || h.PulledAgain() != nil {
		t.Errorf("after a day: %+v, %v", o, h.PulledAgain())
	}
	for i := range history.MaxRemovals + 10 {
		h.Removed(fmt.Sprintf("image-%04d", i), nil, reading(26*time.Hour))
	}
	o := h.Observe(reading(27*time.Hour), listed("image-0009 image-0010 c"))
	if ids(o.PulledAgain) != "image-0010" {
		t.Errorf("%+v", o)
	}
}
