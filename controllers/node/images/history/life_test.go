// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/long"
)

const (
	interval   = time.Minute
	gap        = 2 * interval
	slack      = 2 * time.Second
	longestGap = time.Hour
)

var (
	start   = fixture.Now
	options = history.Options{Machine: "node-1", Gap: gap, Every: interval}
)

// reading returns the clocks of a node without faults.
func reading(since time.Duration) history.Reading {
	return history.Reading{Wall: start.Add(since), BootID: "boot", Boot: time.Hour + since}
}

// unused returns how long an image is unused at a reading, to the nearest interval: the times of a record may be late by slack.
func unused(r history.Record, at history.Reading) time.Duration {
	return at.Wall.Sub(r.UnusedSince()).Round(interval)
}

// life is a simulated node, with everything that was observed.
type life struct {
	*testing.T
	*rand.Rand
	disk     *disk
	store    *history.Store
	now      time.Duration // the real time
	wrong    time.Duration // by how much the wall clock is ahead
	boot     int
	booted   time.Duration
	images   map[string]bool // whether each is in use
	listings []listing
	restarts int
	isFirst  bool // the next listing is the first since a restart
	exact    bool // nothing was lost
}

// listing is a listing that was observed.
type listing struct {
	at      time.Duration
	boot    int
	uptime  time.Duration
	seen    map[string]bool
	removed map[string]bool // what the agent removed after it
	doubted bool            // it was empty, and there were images
}

func (l *life) reading() history.Reading {
	return history.Reading{Wall: start.Add(l.now + l.wrong), BootID: fmt.Sprint(l.boot), Boot: l.now - l.booted}
}

func (l *life) open() {
	l.Helper()
	l.restarts++
	l.isFirst = true
	l.store = openOn(l.T, l.disk, l.reading())
}

func (l *life) stop() {
	if err := l.store.Close(); err != nil && !errors.Is(err, errFull) {
		l.Fatal(err)
	} else if err != nil {
		l.exact = false
	}
}

func (l *life) kill() {
	l.exact = false
	l.disk.crash(l.Rand)
}

// observe takes a listing, which may be empty by mistake. The node may crash while it is saved.
func (l *life) observe(seen map[string]bool, crash bool) {
	var lines []history.Seen
	for id, inUse := range seen {
		lines = append(lines, history.Seen{ID: id, InUse: inUse})
	}
	at := l.reading()
	l.store.Observe(at, lines)
	if crash {
		l.disk.crashAt(1 + l.IntN(8))
	}
	err := l.store.Save(at)
	isLost := errors.Is(err, errCrash)
	if isLost {
		l.kill()
		l.open()
	}
	if crash {
		l.disk.fail = nil
	}
	if !isLost || l.isSaved(at) { // if not, no decision has used it
		before := l.believed()
		doubted := len(seen) == 0 && before != nil && lacks(listing{}, *before) && !l.isFirst
		l.listings = append(l.listings, listing{l.now, l.boot, l.now - l.booted, maps.Clone(seen), map[string]bool{}, doubted})
	}
	if isLost {
		return
	}
	l.isFirst = false
	if len(seen) > 0 {
		l.check()
	}
}

// believed returns the last listing that is not doubted.
func (l *life) believed() *listing {
	for i := range slices.Backward(l.listings) {
		if !l.listings[i].doubted {
			return &l.listings[i]
		}
	}
	return nil
}

// isSaved reports whether the file is that of a listing.
func (l *life) isSaved(at history.Reading) bool {
	var file struct {
		Content struct {
			BootID string
			Boot   time.Duration
		}
	}
	i := l.disk.names[history.Name]
	if i == nil {
		return false
	}
	expect.NoError(l.T, json.Unmarshal(i.data, &file))
	return file.Content.BootID == at.BootID && file.Content.Boot == at.Boot
}

// observed returns how long an image was seen, and how long it was seen unused. Time counts between two listings that both show
// the image, unless the node was on for more than an hour between two listings.
func (l *life) observed(id string) (known, unused time.Duration) {
	later := l.listings[len(l.listings)-1]
	isUsed, isDoubted := later.seen[id], false
	for _, one := range slices.Backward(l.listings[:len(l.listings)-1]) {
		if one.doubted {
			isDoubted = true
			continue
		}
		inUse, ok := one.seen[id]
		if !ok || one.removed[id] || isDoubted && lacks(later, one) || later.uptimeSince(one) > longestGap {
			break
		}
		isUsed = isUsed || inUse
		if span := later.at - one.at; !isDoubted && later.boot == one.boot && span <= gap {
			known += span
			if !isUsed {
				unused += span
			}
		}
		later, isDoubted = one, false
	}
	return known, unused
}

// uptimeSince returns how long the node was on between two listings, as far as the agent can know.
func (l listing) uptimeSince(earlier listing) time.Duration {
	if l.boot != earlier.boot {
		return l.uptime
	}
	return l.at - earlier.at
}

func lacks(l, images listing) bool {
	for id := range images.seen {
		if _, ok := l.seen[id]; !ok && !images.removed[id] {
			return true
		}
	}
	return false
}

// check compares what the store reports about each image with what was observed.
func (l *life) check() {
	l.Helper()
	at := l.reading()
	lost := time.Duration(l.restarts) * time.Millisecond
	for id := range l.images {
		r, ok := l.store.Of(id)
		_, isListed := l.listings[len(l.listings)-1].seen[id]
		if ok != isListed {
			l.Fatalf("%s: known %v, listed %v", id, ok, isListed)
		}
		if !ok {
			continue
		}
		known, unused := l.observed(id)
		unusedFor, knownFor := at.Wall.Sub(r.UnusedSince()), at.Wall.Sub(r.FirstSeen)
		switch {
		case unusedFor > unused || knownFor > known:
			l.Fatalf("%s is reported as unused for %v, known for %v; observed: %v, %v", id, unusedFor, knownFor, unused, known)
		case l.exact && (unusedFor < unused-slack-lost || knownFor < known-slack-lost):
			l.Fatalf("%s is reported as unused for only %v, known for %v; observed: %v, %v", id, unusedFor, knownFor, unused, known)
		}
	}
}

// happen makes one event happen. Rare events are at the end.
func (l *life) happen() {
	id := string(rune('a' + l.IntN(4)))
	l.now += time.Duration(l.Int64N(int64(interval)))
	switch n := l.IntN(60); {
	case n < 30:
		l.observe(l.images, false)
	case n < 36:
		if inUse, ok := l.images[id]; ok {
			l.images[id] = !inUse
		}
	case n < 38:
		delete(l.images, id)
	case n < 39:
		l.remove(id)
	case n < 43:
		if _, ok := l.images[id]; !ok {
			l.images[id] = l.IntN(2) == 0
		}
	case n < 45:
		l.wrong += time.Duration(l.Int64N(int64(48*time.Hour))) - 24*time.Hour
	case n < 46:
		l.observe(nil, false) // although there are images
	case n < 47:
		l.now += time.Duration(l.Int64N(int64(30 * 24 * time.Hour)))
	case n < 50:
		l.stop()
		l.now += time.Duration(l.Int64N(int64(2 * interval)))
		l.open()
	case n < 52:
		l.stop()
		l.now += time.Duration(l.Int64N(int64(2 * interval)))
		l.boot, l.booted = l.boot+1, l.now-time.Second
		l.open()
	default:
		l.fault(n)
	}
}

// remove is a removal by the agent, which the store learns at once.
func (l *life) remove(id string) {
	l.store.Removed(id, l.reading())
	delete(l.images, id)
	if last := l.believed(); last != nil {
		last.removed[id] = true
	}
	if err := l.store.Save(l.reading()); err != nil && !errors.Is(err, errFull) {
		l.Fatal(err)
	}
}

// fault is an event that loses something.
func (l *life) fault(n int) {
	if l.exact && l.IntN(20) > 0 {
		return // otherwise few runs would stay exact
	}
	switch {
	case n < 54:
		l.observe(l.images, true)
	case n < 56:
		l.kill()
		l.now += time.Duration(l.Int64N(int64(2 * interval)))
		l.open()
	case n < 57:
		l.disk.fill()
	case n < 59:
		l.disk.fail = nil
	default:
		l.kill()
		l.damage()
		l.open()
	}
}

func (l *life) damage() {
	if i := l.disk.names[history.Name]; i != nil && len(i.data) > 0 {
		at := l.IntN(len(i.data))
		i.data = slices.Clone(i.data)
		if l.IntN(2) == 0 {
			i.data = i.data[:at]
		} else {
			i.data[at] ^= 1 << l.IntN(8)
		}
	}
}

// TestNoImageIsOlderThanObserved checks the promise of the package.
func TestNoImageIsOlderThanObserved(t *testing.T) {
	for seed := range uint64(long.Cases(120)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := &life{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), disk: newDisk(), images: map[string]bool{}, exact: true}
			l.open()
			for range 400 {
				l.happen()
			}
			l.stop()
		})
	}
}
