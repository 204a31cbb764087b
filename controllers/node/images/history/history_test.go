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
		isUnknown bool
	}{
		"an image that was never used ages from when it was first seen":       {listings: []string{"b", "a b", "a b", "a b"}, unused: 2 * m, neverUsed: true},
		"an image in use does not age":                                        {listings: []string{"a", "a", "a*"}},
		"an image in use may have been used until the next listing":           {listings: []string{"a*", "a*", "a", "a"}, unused: m},
		"a missing image is forgotten":                                        {listings: []string{"a b", "b"}, isUnknown: true},
		"the age of an image that comes back starts again":                    {listings: []string{"a* b", "a b", "b", "a b", "a b"}, unused: m, neverUsed: true},
		"an image that is listed twice is in use if the first line says so":   {listings: []string{"a b", "a* b a"}},
		"an image that is listed twice is in use if the last line says so":    {listings: []string{"a b", "a b a*"}},
		"a new image that is listed twice is in use if the last line says so": {listings: []string{"b", "a b a*"}},
		"no image has a record while a listing is empty":                      {listings: []string{"a b", ""}, isUnknown: true},
		"an empty listing was wrong if all images are back":                   {listings: []string{"a b", "a b", "", "", "b a c", "a b c"}, unused: 2 * m, neverUsed: true},
		"an empty listing was correct if an image is missing":                 {listings: []string{"a* b", "a b", "a b", "", "a c", "a c"}, unused: m, neverUsed: true},
		"an empty listing was correct, and an image is in use":                {listings: []string{"a b", "", "a*", "a", "a"}, unused: m},
		"no image has a record on a node without images":                      {listings: []string{"", ""}, isUnknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := observed(c.listings...).Of("a")
			if ok == c.isUnknown {
				t.Errorf("known: %v", ok)
			}
			if got := unused(r, reading(time.Duration(len(c.listings)-1)*interval)); ok && (got != c.unused || r.LastUsed.IsZero() != c.neverUsed) {
				t.Errorf("unused for %v, last used at %v", got, r.LastUsed)
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
		h.Observe(at, listing)
		if now, _ := h.Of("a"); now != first {
			t.Fatalf("listing %d: %+v was %+v", i, now, first)
		}
	}
	for _, step := range []time.Duration{time.Hour, -48 * time.Hour, 20 * 365 * 24 * time.Hour} {
		before, _ := h.Of("a")
		at.Wall = at.Wall.Add(step)
		h.Observe(at, listing)
		after, _ := h.Of("a")
		if moved := after.FirstSeen.Sub(before.FirstSeen); moved < step-slack || moved > step+slack {
			t.Errorf("a step by %v moved it by %v: %+v", step, moved, after)
		}
		if b, _ := h.Of("b"); b.LastUsed.Before(at.Wall) || b.LastUsed.After(at.Wall.Add(slack)) {
			t.Errorf("an image in use was last used at %v, and the time is %v", b.LastUsed, at.Wall)
		}
	}
}

func TestIsCurrent(t *testing.T) {
	for name, test := range map[string]struct {
		passed, step time.Duration // since the last listing
		boot         string
		want         bool
	}{
		"the last listing":         {0, 0, "boot", true},
		"the maximum gap":          {gap, 0, "boot", true},
		"a longer gap":             {gap + 1, 0, "boot", false},
		"a reading from before":    {-1, 0, "boot", false},
		"a step forward":           {interval, slack, "boot", false},
		"a step back":              {interval, -slack, "boot", false},
		"a clock that is adjusted": {interval, -time.Millisecond, "boot", true},
		"another boot":             {interval, 0, "another", false},
		"an unknown boot":          {interval, 0, "", false},
	} {
		at := reading(interval + test.passed)
		at.Wall, at.BootID = at.Wall.Add(test.step), test.boot
		if got := observed("a", "a").IsCurrent(at); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNodeThatWasOffForAMonth(t *testing.T) {
	h := observed("a", "a", "a")
	at := reading(30 * 24 * time.Hour)
	at.BootID, at.Boot = "another", time.Minute
	h.Observe(at, listed("a"))
	r, _ := h.Of("a")
	if age := at.Wall.Sub(r.UnusedSince()); age > 2*interval || age < 2*interval-slack {
		t.Errorf("unused for %v", age)
	}
}

// TestAgesStartAgainAfterAnHourWithoutListings: images may have been used, or deleted and pulled again, while the agent did not run.
func TestAgesStartAgainAfterAnHourWithoutListings(t *testing.T) {
	for name, test := range map[string]struct {
		passed time.Duration
		boot   string
		uptime time.Duration
		want   time.Duration
	}{
		"a restart of the agent":     {time.Hour, "boot", 2*time.Hour + 2*interval, 2 * interval},
		"two weeks without agent":    {14 * 24 * time.Hour, "boot", 15 * 24 * time.Hour, 0},
		"a boot":                     {14 * 24 * time.Hour, "another", time.Hour, 2 * interval},
		"an agent long after a boot": {14 * 24 * time.Hour, "another", time.Hour + time.Second, 0},
	} {
		h := observed("a", "a", "a")
		at := reading(2*interval + test.passed)
		at.BootID, at.Boot = test.boot, test.uptime
		h.Observe(at, listed("a"))
		r, _ := h.Of("a")
		expect.Equal(t, name, test.want, unused(r, at))
	}
}

func TestListingsMayBeHoursApart(t *testing.T) {
	h := history.New(4 * time.Hour)
	h.Observe(reading(0), listed("a"))
	h.Observe(reading(3*time.Hour), listed("a"))
	r, _ := h.Of("a")
	expect.Equal(t, "unused", 3*time.Hour, unused(r, reading(3*time.Hour)))
}

func TestHistoryAgesNothingWithoutABootID(t *testing.T) {
	h := history.New(gap)
	for i := range 3 {
		at := reading(time.Duration(i) * interval)
		at.BootID = ""
		h.Observe(at, listed("a"))
	}
	if r, ok := h.Of("a"); !ok || unused(r, reading(2*interval)) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestListingThatBeganBeforeTheLastIsNotTaken(t *testing.T) {
	h := observed("a", "a", "a* b")
	if o := h.Observe(reading(interval), listed("a")); !o.Stale {
		t.Errorf("%+v", o)
	}
	r, _ := h.Of("a")
	if _, ok := h.Of("b"); !ok || unused(r, reading(2*interval)) != 0 {
		t.Errorf("%+v, and b is known: %v", r, ok)
	}
}

// known returns how many images in a listing have a record.
func known(h *history.History, seen []history.Seen) (n int) {
	for _, s := range seen {
		if _, ok := h.Of(s.ID); ok {
			n++
		}
	}
	return n
}

func TestThoseKnownStayKnownWhenThereAreTooMany(t *testing.T) {
	var seen []history.Seen
	for i := range history.MaxImages + 10 {
		seen = append(seen, history.Seen{ID: fmt.Sprint(i)})
	}
	h := history.New(gap)
	h.Observe(reading(0), seen[:5])
	slices.Reverse(seen)
	h.Observe(reading(interval), seen)
	if r, ok := h.Of("4"); known(h, seen) != history.MaxImages || !ok || unused(r, reading(interval)) != interval {
		t.Errorf("%d known, %+v", known(h, seen), r)
	}
	slices.Reverse(seen)
	h.Observe(reading(2*interval), seen[10:])
	expect.Equal(t, "known images once there is room", history.MaxImages, known(h, seen))
	absurd := []history.Seen{{ID: ""}, {ID: "\xff"}, {ID: strings.Repeat("x", 300)}, {ID: "a"}}
	h.Observe(reading(3*interval), absurd)
	expect.Equal(t, "known images with an absurd ID", 1, known(h, absurd))
}

func TestPulledAgain(t *testing.T) {
	h := observed("a b c", "a b c")
	h.Removed("a", reading(interval+time.Second))
	h.Removed("b", reading(interval+2*time.Second))
	if _, ok := h.Of("a"); ok {
		t.Error("a removed image has a record")
	}
	for _, c := range []struct {
		name       string
		at         time.Duration
		images     string
		again      int   // with this listing
		withinADay int64 // so far
	}{
		{"a listing from before the removals", interval, "a b c", 0, 0},
		{"both images are gone", 2 * interval, "c", 0, 0},
		{"one is back", 3 * interval, "a c", 1, 1},
		{"it is counted once", 4 * interval, "a c", 0, 1},
		{"after a day", 25 * time.Hour, "a b c", 0, 0},
	} {
		o := h.Observe(reading(c.at), listed(c.images))
		expect.Equal(t, c.name, c.again, o.PulledAgain)
		expect.Equal(t, c.name+": within a day", c.withinADay, h.PulledAgain())
	}
}

func TestHistoryForgetsTheOldestRemovals(t *testing.T) {
	h := observed("c")
	var images string
	for i := range history.MaxRemovals + 10 {
		h.Removed(fmt.Sprint(i), reading(time.Duration(i)*time.Millisecond))
		images += fmt.Sprint(i) + " "
	}
	expect.Equal(t, "the oldest 10 are back", 0, h.Observe(reading(interval), listed("0 1 2 3 4 5 6 7 8 9")).PulledAgain)
	expect.Equal(t, "all are back", history.MaxRemovals, h.Observe(reading(2*interval), listed(images)).PulledAgain)
}
