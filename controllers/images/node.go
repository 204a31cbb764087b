package images

import (
	"context"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/images/cri"
	"github.com/sunset-k8s/sunset/controllers/images/history"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
)

// Runtime is the container runtime of the node.
type Runtime interface {
	// Images lists all images, or fails.
	Images(ctx context.Context) ([]cri.Image, error)
	// Uses finds all that uses an image, or fails.
	Uses(ctx context.Context) (cri.Uses, error)
	// Remove removes an image by its full ID. An error does not say that it is still there.
	Remove(ctx context.Context, id string) error
}

// Cluster is what the API server knows of the node.
type Cluster interface {
	// Pods are those bound to the node, as they were at most a moment ago.
	Pods(ctx context.Context) ([]corev1.Pod, error)
	// Node is the node as rules see it; the error says why that is not known.
	Node() (*engine.Node, error)
}

// Options is what a Node is made of.
type Options struct {
	Runtime  Runtime
	Cluster  Cluster
	History  *history.Store
	Readings history.Clock // of the clocks of the node
	Clock    clock.Clock
	Compiler *engine.Compiler
	Interval time.Duration // between two looks at the node; 0 means DefaultInterval
}

// DefaultInterval is how often a Node looks when nobody asks.
const DefaultInterval = 30 * time.Second

// Node is the images of one node. It implements retention.Sources and retention.Remover.
type Node struct {
	Options
	looks looks

	mu       sync.Mutex
	round    int64
	versions map[string]version // by ID
	sizes    map[string]int64   // by ID, also of those removed since the last look
	trouble  error              // why the last look failed; nil when it did not
	saved    time.Time          // when the history was last written, or found that it need not be
}

// version numbers the forms of one image.
type version struct {
	form   string
	number int64
}

// New makes a Node. It does nothing until a Source runs.
func New(o Options) *Node {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	n := &Node{Options: o, versions: map[string]version{}, sizes: map[string]int64{}}
	n.looks.take = n.look
	return n
}

// Open implements retention.Sources.
func (n *Node) Open(q retention.Questions) retention.Source { return &source{node: n, asks: q} }

// Size is how many bytes an image has or had that was removed a moment ago; 0 when nobody knows.
func (n *Node) Size(id string) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sizes[id]
}

// Trouble is why the last look at the node failed; nil when it did not.
func (n *Node) Trouble() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.trouble
}

// note numbers the forms that a look has found: a form keeps its number, and another one has a greater number.
func (n *Node) note(l *look) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.round++
	versions, sizes := make(map[string]version, len(l.images)), make(map[string]int64, len(l.images))
	for i := range l.images {
		image := &l.images[i]
		known, form := n.versions[image.ID], formOf(&image.Image)
		if known.form != form {
			known = version{form, n.round}
		}
		versions[image.ID], sizes[image.ID] = known, image.SizeBytes
		image.version = strconv.FormatInt(known.number, 10)
	}
	n.versions, n.sizes = versions, sizes
}
