// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine"
)

// memory is the immutable part of each existing container and sandbox, which needs one request only.
type memory map[holder]held

// holder is a container or sandbox that uses images.
type holder struct{ kind, id string }

// held is the names of the images that a holder uses.
type held struct {
	names    []string          // the image volumes of a container, or the image of a sandbox
	resolved map[string]string // the ID of each name, as the runtime has resolved it; empty if no image has the name yet
}

// Uses returns everything that uses an image: containers in every state with their image volumes, the sandboxes of Pods, and
// the image of the next sandbox. If one of them is unknown it returns an error, and no image may be removed. It sends a request
// for each container and sandbox that is new since the last call, and five others. It does not include containers that are
// created during the call.
func (r *Runtime) Uses(ctx context.Context) (Uses, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit(usesTimeout))
	defer cancel()
	s := survey{Runtime: r, uses: NewUses(), known: r.recall(), seen: memory{}, met: map[holder]bool{}, listed: map[string]sets.Set[string]{}}
	err := s.everything(ctx)
	r.remember(&s)
	if err != nil {
		return Uses{}, fmt.Errorf("list uses of images: %w", err)
	}
	return s.uses, nil
}

func (r *Runtime) recall() memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// remember keeps the result of a survey, which may have failed. Only a list of a kind shows which holders no longer exist.
func (r *Runtime) remember(s *survey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := memory{}
	maps.Copy(all, r.seen)
	maps.Copy(all, s.seen)
	maps.DeleteFunc(all, func(h holder, _ held) bool { ids, listed := s.listed[h.kind]; return listed && !ids.Has(h.id) })
	r.seen = all // immutable from here on: other goroutines may read it
}

// survey is one call of Uses in progress.
type survey struct {
	*Runtime
	uses        Uses
	known, seen memory
	met         map[holder]bool             // holders that were listed
	listed      map[string]sets.Set[string] // the IDs of all holders of a kind
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

// meet records a holder and when it was created, in Unix nanoseconds. It returns an error if the holder was listed before or
// has no ID.
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

// resolve adds to h the IDs of names that have none yet. It asks again about a name that no image had.
func (s *survey) resolve(ctx context.Context, h held, names []string) (held, error) {
	resolved := maps.Clone(h.resolved)
	for _, name := range names {
		if resolved[name] != "" || engine.IsImageID(name) {
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

// add adds a use of names, and of the images that they meant when they were first resolved.
func (s *survey) add(by, id string, h held, names []string) {
	for _, name := range names {
		use := Use{By: by, ID: id, Name: name}
		s.uses.Add(use)
		if image := h.resolved[name]; image != "" {
			s.uses.addAs(image, use)
		}
	}
}
