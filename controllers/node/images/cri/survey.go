package cri

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// memory is what was asked once about each container and sandbox that is there, and never changes.
type memory map[holder]held

// holder is what has an image.
type holder struct{ kind, id string }

// held are the names of images that something holds.
type held struct {
	names    []string          // image volumes of a container, the image of a sandbox
	resolved map[string]string // the ID that the runtime found for a name; empty if it found none yet
}

// Uses asks the runtime for everything that uses an image: containers in every state, with their image volumes, the
// sandboxes of Pods, and the image of the next sandbox. What is not known of only one of them is an error, and then no
// image may be removed. It costs a question for each container and sandbox that was not there at the last call, and
// else five. Who creates a container meanwhile is not in the answer.
func (r *Runtime) Uses(ctx context.Context) (Uses, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit(usesTimeout))
	defer cancel()
	s := survey{Runtime: r, uses: NewUses(), known: r.recall(), seen: memory{}, met: map[holder]bool{}}
	err := s.everything(ctx)
	r.remember(s.seen, err == nil)
	if err != nil {
		return Uses{}, fmt.Errorf("uses of images: %w", err)
	}
	return s.uses, nil
}

func (r *Runtime) recall() memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// remember keeps what a survey has seen. Only a whole survey tells what is no longer there.
func (r *Runtime) remember(seen memory, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !whole {
		both := maps.Clone(r.seen)
		if both == nil {
			both = memory{}
		}
		maps.Copy(both, seen)
		seen = both
	}
	r.seen = seen // never changed from here on: others may read it
}

// survey is one Uses under way.
type survey struct {
	*Runtime
	uses        Uses
	known, seen memory
	met         map[holder]bool // what was listed
}

func (s *survey) everything(ctx context.Context) error {
	if err := s.containers(ctx); err != nil {
		return err
	}
	if err := s.sandboxes(ctx); err != nil {
		return err
	}
	return s.nextSandbox(ctx)
}

// meet takes in what was created at some nanosecond. It is an error if that was listed before, or has no ID.
func (s *survey) meet(call string, h holder, created int64) error {
	if s.met[h] || h.id == "" {
		return badAnswer(call, "%s %q is listed twice, or has no ID", h.kind, h.id)
	}
	s.met[h] = true
	if at := time.Unix(0, created); created > 0 && at.After(s.uses.Youngest) {
		s.uses.Youngest = at
	}
	return nil
}

// resolve completes h with the IDs of those names that have none yet. A name that no image has is asked again next time.
func (s *survey) resolve(ctx context.Context, h held, names []string) (held, error) {
	resolved := maps.Clone(h.resolved)
	for _, name := range names {
		if resolved[name] != "" || IsFullID(name) {
			continue
		}
		id, err := s.Resolve(ctx, name)
		if err != nil {
			return held{}, err
		}
		if resolved == nil {
			resolved = map[string]string{}
		}
		resolved[name] = id
	}
	return held{names: h.names, resolved: resolved}, nil
}

// add adds a use of names, and of the images they meant when they were first seen.
func (s *survey) add(by, id string, h held, names []string) {
	for _, name := range names {
		use := Use{By: by, ID: id, Name: name}
		s.uses.Add(use)
		if image := h.resolved[name]; image != "" {
			s.uses.addAs(image, use)
		}
	}
}
