// SPDX-License-Identifier: Apache-2.0

package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	version = 1
	// maxAge is longer than any clock can have observed.
	maxAge = int64(100 * 365 * 24 * time.Hour / time.Millisecond)
)

// envelope is the format of the file. Sum is over all other fields.
type envelope struct {
	Version int             `json:"version"`
	Machine string          `json:"machine"`
	Sum     string          `json:"sha256"`
	Content json.RawMessage `json:"content"`
}

// content is a History as of its last listing. Ages are in milliseconds; their truncation makes images younger.
type content struct {
	ObservedUntil time.Time      `json:"observedUntil"`
	BootID        string         `json:"bootID"`
	Boot          time.Duration  `json:"boot"` // in nanoseconds
	Doubted       bool           `json:"doubted,omitempty"`
	Images        []savedImage   `json:"images"`
	Removals      []savedRemoval `json:"removed,omitempty"`
}

type savedImage struct {
	ID     string `json:"id"`
	Known  int64  `json:"known"`            // observed since it was first seen
	Unused *int64 `json:"unused,omitempty"` // observed since it was last used; absent if it was never used
	InUse  bool   `json:"inUse,omitempty"`
}

type savedRemoval struct {
	ID          string    `json:"id"`
	At          time.Time `json:"at"`
	Since       int64     `json:"since"` // observed since then
	PulledAgain time.Time `json:"pulledAgain,omitzero"`
}

func (e envelope) sum() string {
	header, _ := json.Marshal([]any{e.Version, e.Machine}) // a number and a string have no error
	s := sha256.New()
	s.Write(header)
	s.Write(e.Content)
	return hex.EncodeToString(s.Sum(nil))
}

// encode returns the file of a machine.
func encode(c content, machine string) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	e := envelope{Version: version, Machine: machine, Content: text}
	e.Sum = e.sum()
	return json.Marshal(e)
}

// decode reads the file of a machine. The error says why it cannot be used.
func decode(data []byte, machine string) (content, error) {
	var e envelope
	var c content
	if err := json.Unmarshal(data, &e); err != nil {
		return c, fmt.Errorf("truncated or corrupt: %w", err)
	}
	switch {
	case e.Version > version:
		return c, fmt.Errorf("a newer agent wrote it with format version %d; this agent supports version %d", e.Version, version)
	case e.Version != version:
		return c, fmt.Errorf("invalid format version %d", e.Version)
	case e.Sum != e.sum():
		return c, errors.New("corrupt: checksum mismatch")
	case e.Machine != machine:
		return c, fmt.Errorf("it was written by machine %q, and this is machine %q", e.Machine, machine)
	}
	if err := json.Unmarshal(e.Content, &c); err != nil {
		return c, fmt.Errorf("invalid content: %w", err)
	}
	return c, c.check()
}

func (c content) check() error {
	if len(c.Images) > MaxImages || len(c.Removals) > MaxRemovals {
		return fmt.Errorf("more than the maximum number of images or removals: %d images, %d removals", len(c.Images), len(c.Removals))
	}
	ids := make(map[string]bool, len(c.Images))
	for _, i := range c.Images {
		if !isSane(i.ID) || ids[i.ID] {
			return fmt.Errorf("image %.64q is invalid or listed twice", i.ID)
		}
		ids[i.ID] = true
		if i.Known < 0 || i.Known > maxAge || i.Unused != nil && (*i.Unused < 0 || *i.Unused > i.Known) || i.InUse && i.Unused == nil {
			return fmt.Errorf("the ages of image %q are invalid", i.ID)
		}
	}
	for _, r := range c.Removals {
		if !isSane(r.ID) || r.Since < 0 || r.Since > maxAge {
			return fmt.Errorf("the removal of image %.64q is invalid", r.ID)
		}
	}
	return nil
}

// content returns the History as it is now, and the number of its last change.
func (h *History) content() (content, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := content{
		ObservedUntil: h.last.Wall, BootID: h.last.BootID, Boot: h.last.Boot, Doubted: h.doubted,
		Images: make([]savedImage, 0, len(h.images)),
	}
	unused := make([]int64, 0, len(h.images))
	for id, r := range h.images {
		image := savedImage{ID: id, Known: (h.observed - r.first).Milliseconds(), InUse: r.inUse}
		if r.used {
			unused = append(unused, (h.observed - r.last).Milliseconds())
			image.Unused = &unused[len(unused)-1]
		}
		c.Images = append(c.Images, image)
	}
	slices.SortFunc(c.Images, func(a, b savedImage) int { return strings.Compare(a.ID, b.ID) })
	for id, r := range h.removals {
		since := (h.observed - r.when).Milliseconds()
		c.Removals = append(c.Removals, savedRemoval{ID: id, At: r.reading.Wall, Since: since, PulledAgain: r.pulledAgain})
	}
	slices.SortFunc(c.Removals, func(a, b savedRemoval) int { return strings.Compare(a.ID, b.ID) })
	return c, h.changes
}

// restore fills a new History. Of returns nothing before the first listing.
func (h *History) restore(c content) {
	h.last = Reading{Wall: c.ObservedUntil, BootID: c.BootID, Boot: c.Boot}
	h.doubted = c.Doubted
	for _, i := range c.Images {
		r := &record{first: -time.Duration(i.Known) * time.Millisecond, inUse: i.InUse}
		if i.Unused != nil {
			r.used, r.last = true, -time.Duration(*i.Unused)*time.Millisecond
		}
		h.images[i.ID] = r
	}
	for _, r := range c.Removals {
		since := time.Duration(r.Since) * time.Millisecond
		h.removals[r.ID] = &removal{reading: Reading{Wall: r.At}, when: -since, pulledAgain: r.PulledAgain}
	}
}
