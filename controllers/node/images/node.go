// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Runtime is the container runtime of the node.
type Runtime interface {
	// Images lists all images. An incomplete list is an error.
	Images(ctx context.Context) ([]cri.Image, error)
	// Image returns one image by its full ID, in the form that Images returns; false if it does not exist.
	Image(ctx context.Context, id string) (cri.Image, bool, error)
	// Uses returns everything that uses an image. An incomplete result is an error.
	Uses(ctx context.Context) (cri.Uses, error)
	// Remove removes an image by its full ID. It calls beforeWrite when the request is about to be written: an error prevents the request, and
	// Remove returns it. After any other error the image may be gone all the same.
	Remove(ctx context.Context, id string, beforeWrite func() error) error
}

// Cluster is the state of the node in the API server.
type Cluster interface {
	// Pods returns the Pods that are bound to the node, and when the API server listed them: at most a second ago.
	Pods(ctx context.Context) (pods []corev1.Pod, since time.Time, err error)
	// Node returns the node in the form that rules read; the error says why it is unknown.
	Node() (*engine.Node, error)
}

// Options are the dependencies and settings of a Node.
type Options struct {
	Runtime     Runtime
	Cluster     Cluster
	History     *history.Store
	Readings    history.Clock // of the clocks of the node
	Clock       clock.Clock
	Compiler    *engine.Compiler
	Failed      func(code string) // called with the code of each failed call of Remove; may be nil
	PulledAgain func(n int)       // called with the number of images that were pulled again within a day after their removal; may be nil
	Interval    time.Duration     // between two snapshots of the node, such as DefaultInterval
	// Late is called for each removal without an answer whose image is found to be gone; may be nil.
	Late func(retention.Removal)
}

// DefaultInterval is the time between two snapshots while no caller requests one.
const DefaultInterval = time.Minute

// Node holds the images of one node. It implements retention.Sources and retention.Remover.
type Node struct {
	Options
	snapshots snapshots
	batcher   *batcher

	mu       sync.Mutex
	round    int64
	versions map[string]version     // by ID, from the last snapshot
	sent     map[string]sentRemoval // by ID of the image
	total    v1alpha1.ImageCount
	sources  int                        // number of running sources
	lastErr  error                      // error of the last snapshot; nil if it succeeded, or without a running source
	away     time.Time                  // since when the runtime has been unreachable; zero if it is reachable
	changed  wake.Broadcast             // a snapshot differs from the one before
	rules    map[string]*engine.Program // in force
	received map[string]string          // contents of the images that the rules have received, by ID

	saving sync.Mutex
	saved  time.Time // when the history was last saved, or needed no save
	toSave bool      // a save is scheduled
}

// version is one form of an image, with its number.
type version struct {
	form   string
	number int64
	Summary
}

// New returns a Node. It does nothing until a Source runs.
func New(o Options) *Node {
	n := &Node{Options: o, versions: map[string]version{}, sent: map[string]sentRemoval{}}
	n.snapshots.take, n.snapshots.clock = n.takeSnapshot, o.Clock
	n.batcher = newBatcher(o.Clock, func() { n.snapshots.join() }) // a snapshot records the removed images and detects other changes
	return n
}

// Open implements retention.Sources.
func (n *Node) Open(q retention.RuleSet) retention.Source {
	return &source{node: n, rules: q}
}

// Use sets the compiled rules in force, by policy.Rule.Key. Images are removed by these rules only.
func (n *Node) Use(programs map[string]*engine.Program) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = programs
}

// setReceived records the images that the rules have received, with their contents. The caller must not change the map afterwards.
func (n *Node) setReceived(contents map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.received = contents
}

// receivedByRules returns the contents of the images that the rules received last.
func (n *Node) receivedByRules() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.received
}

// hasChanged reports whether another client has removed or changed images that the rules have received. An image that has lost a tag
// may no longer be eligible, for example.
func (n *Node) hasChanged(received map[string]string, l *snapshot) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, content := range received {
		switch i := l.byID[id]; {
		case i == nil && n.Clock.Now().Sub(n.sent[id].At) > answeredFor:
			return true
		case i != nil && contentOf(&i.Image) != content:
			return true
		}
	}
	return false
}

// rule returns the compiled rule of a key; nil if it is no longer in force.
func (n *Node) rule(key string) *engine.Program {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rules[key]
}

// Summary describes an image for people.
type Summary struct {
	Name  string // its first tag, or else its first digest; empty without any
	Bytes int64
}

// Summary returns the summary of an image in the last snapshot, or of one that the agent has removed since; zero if it is
// neither.
func (n *Node) Summary(id string) Summary {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, ok := n.versions[id]; ok {
		return known.Summary
	}
	return n.sent[id].Summary
}

// Total returns the number of images in the last snapshot and the sum of their bytes.
func (n *Node) Total() v1alpha1.ImageCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.total
}

// LastError returns the error of the last snapshot of the node; nil if it succeeded, and while no rule is about images.
func (n *Node) LastError() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lastErr
}

// Unreachable returns for how long snapshots have failed because the runtime is unreachable; zero if the last one did not.
func (n *Node) Unreachable() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away.IsZero() {
		return 0
	}
	return n.Clock.Now().Sub(n.away)
}

// note numbers the forms of the images in a snapshot. A form keeps its number, and a new form of an image gets a greater one.
func (n *Node) note(l *snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.round++
	versions := make(map[string]version, len(l.images))
	n.total = v1alpha1.ImageCount{Images: int64(len(l.images))}
	for i := range l.images {
		image := &l.images[i]
		known, form := n.versions[image.ID], formOf(&image.Image)
		if known.form != form {
			known = version{form, n.round, summaryOf(image)}
		}
		versions[image.ID] = known
		n.total.Bytes += image.SizeBytes
		image.version = strconv.FormatInt(known.number, 10)
	}
	if !maps.Equal(versions, n.versions) {
		n.changed.Send()
	}
	n.versions = versions
}

func summaryOf(i *image) Summary {
	s := Summary{Bytes: i.SizeBytes}
	if names := slices.Concat(i.Tags, i.Digests); len(names) > 0 {
		s.Name = names[0]
	}
	return s
}
