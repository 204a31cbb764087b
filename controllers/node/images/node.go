package images

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Runtime is the container runtime of the node.
type Runtime interface {
	// Images lists all images, or fails.
	Images(ctx context.Context) ([]cri.Image, error)
	// Image gives one image by its full ID, as Images would; false when it is not there.
	Image(ctx context.Context, id string) (cri.Image, bool, error)
	// Uses finds all that uses an image, or fails.
	Uses(ctx context.Context) (cri.Uses, error)
	// Remove removes an image by its full ID. An error does not say that it is still there.
	Remove(ctx context.Context, id string) error
}

// Cluster is what the API server knows of the node.
type Cluster interface {
	// Pods are those bound to the node, and when the API server answered so: at most a second ago.
	Pods(ctx context.Context) (pods []corev1.Pod, since time.Time, err error)
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
	Failed   func(code string) // is told of each call of Remove that failed; nil for nobody
	Again    func(n int)       // is told how many images came back within a day after their removal; nil for nobody
	Interval time.Duration     // between two looks at the node; 0 means DefaultInterval
	// Late is told of each image that is found gone after a removal that nobody has answered; nil for nobody.
	Late func(retention.Removal)
}

// DefaultInterval is how often a Node looks when nobody asks.
const DefaultInterval = time.Minute

// Node is the images of one node. It implements retention.Sources and retention.Remover.
type Node struct {
	Options
	looks snapshots
	pace  *batcher

	mu       sync.Mutex
	round    int64
	versions map[string]version // by ID
	brief    map[string]Summary // by ID, as of the last look
	before   map[string]Summary // of those removed since a look some time ago
	total    v1alpha1.ImageCount
	trouble  error                      // why the last look failed; nil when it did not
	away     time.Time                  // since when the runtime has been out of reach; zero when it is not
	changed  chan struct{}              // closed and replaced when a look finds something else than the one before
	rules    map[string]*engine.Program // in force
	told     map[types.UID]string       // what the rules were last told of, with versions
	sent     map[string]time.Time       // when the removal of an image was sent, by ID, for a while

	saving sync.Mutex
	saved  time.Time // when the history was last written, or found that it need not be
	toSave bool      // it will be in a moment

	unsure unacknowledged
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
	n := &Node{Options: o, versions: map[string]version{}, sent: map[string]time.Time{}, brief: map[string]Summary{}, changed: make(chan struct{})}
	n.looks.take = n.look
	n.pace = newBatcher(o.Clock, func() { n.looks.join() }) // a look writes down what is gone, and shows what else has changed
	return n
}

// Open implements retention.Sources.
func (n *Node) Open(q retention.RuleSet) retention.Source {
	return &source{node: n, asks: q}
}

// Use takes the compiled rules in force, by policy.Rule.Key. Nothing goes by another one.
func (n *Node) Use(programs map[string]*engine.Program) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = programs
}

// wasTold takes what the rules have been told of. The map is not changed any more.
func (n *Node) wasTold(versions map[types.UID]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = versions
}

// toldOf is what the rules were last told of.
func (n *Node) toldOf() map[types.UID]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.told
}

// sentFor is how long it is remembered that the removal of an image was sent: until every verdict knows that it has gone.
const sentFor = time.Minute

// sends notes that the removal of an image is sent.
func (n *Node) sends(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.Clock.Now()
	if len(n.sent) > remembered {
		maps.DeleteFunc(n.sent, func(_ string, at time.Time) bool { return now.Sub(at) > sentFor })
	}
	n.sent[id] = now
}

// hasLost reports whether images are gone of those that were told, and not by us.
func (n *Node) hasLost(told map[types.UID]string, l *snapshot) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for uid := range told {
		id := string(uid)
		if at, sent := n.sent[id]; l.byID[id] == nil && !(sent && n.Clock.Now().Sub(at) <= sentFor) {
			return true
		}
	}
	return false
}

// rule is the compiled rule of a key; nil when it is not in force any more.
func (n *Node) rule(key string) *engine.Program {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rules[key]
}

// differs is closed once a look finds something else than the ones so far.
func (n *Node) differs() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// Summary is what people want to know of an image.
type Summary struct {
	Name  string // its first tag, or else its first digest; empty without any
	Bytes int64
}

// Summary gives what the last looks found of an image; zero when nobody knows.
func (n *Node) Summary(id string) Summary {
	n.mu.Lock()
	defer n.mu.Unlock()
	if brief, ok := n.brief[id]; ok {
		return brief
	}
	return n.before[id]
}

// Total is how many images the last look found, and how many bytes they have.
func (n *Node) Total() v1alpha1.ImageCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.total
}

// Trouble is why the last look at the node failed; nil when it did not.
func (n *Node) Trouble() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.trouble
}

// Unreachable is for how long looks have failed because of the runtime; zero when the last one did not.
func (n *Node) Unreachable() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away.IsZero() {
		return 0
	}
	return n.Clock.Now().Sub(n.away)
}

// note numbers the forms that a look has found: a form keeps its number, and another one has a greater number.
func (n *Node) note(l *snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.round++
	versions, brief := make(map[string]version, len(l.images)), make(map[string]Summary, len(l.images))
	n.total = v1alpha1.ImageCount{Images: int64(len(l.images))}
	for i := range l.images {
		image := &l.images[i]
		known, form := n.versions[image.ID], formOf(&image.Image)
		if known.form != form {
			known = version{form, n.round}
		}
		versions[image.ID], brief[image.ID] = known, Summary{nameOf(image), image.SizeBytes}
		n.total.Bytes += image.SizeBytes
		image.version = strconv.FormatInt(known.number, 10)
	}
	n.remember(brief)
	if !maps.Equal(versions, n.versions) {
		close(n.changed)
		n.changed = make(chan struct{})
	}
	n.versions, n.brief = versions, brief
}

// remembered is how many images that are no more are remembered: whoever removed one still wants to tell of it.
const remembered = 1000

// remember keeps what is known of images that a look does not show any more.
func (n *Node) remember(now map[string]Summary) {
	if len(n.before) > remembered || n.before == nil {
		n.before = map[string]Summary{}
	}
	for id, brief := range n.brief {
		if _, there := now[id]; !there {
			n.before[id] = brief
		}
	}
}

func nameOf(i *image) string {
	if names := slices.Concat(i.Tags, i.Digests); len(names) > 0 {
		return names[0]
	}
	return ""
}
