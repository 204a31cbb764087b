package images

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/engine"
)

// snapshot has the images of the node as they were at one moment.
type snapshot struct {
	began    time.Time
	since    time.Time // when the oldest answer came that says which images are in use
	youngest time.Time // when the last container or sandbox was created; zero without any
	outcome  history.Outcome
	images   []image
	byID     map[string]*image
}

// image is one image with its use and age.
type image struct {
	engine.Image
	version string
	use     cri.Use // one of those it has, when InUse
	ageless bool    // nobody knows how old it is
}

// ErrPods is wrapped by the error of a look that fails because the Pods of the node cannot be listed.
var ErrPods = errors.New("list the Pods of the node")

// byPod is why an image is in use that a Pod names.
const byPod = "Pod"

// look lists the images, then their use: an image that comes into use in between counts as used.
func (n *Node) look(ctx context.Context) (*snapshot, error) {
	l, err := n.see(ctx)
	if err == nil {
		n.note(l)
		n.settle(ctx, l)
	}
	n.went(err)
	return l, err
}

// went records the error of a look; nil if it succeeded.
func (n *Node) went(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trouble = err
	switch {
	case !isOfRuntime(err):
		n.away = time.Time{}
	case n.away.IsZero():
		n.away = n.Clock.Now()
	}
}

// isOfRuntime reports whether a look failed because the runtime does not listen on its socket.
func isOfRuntime(err error) bool {
	return err != nil && !errors.Is(err, ErrPods) && cri.Code(err) == codes.Unavailable.String()
}

func (n *Node) see(ctx context.Context) (*snapshot, error) {
	began, at := n.Clock.Now(), n.Readings()
	listed, err := n.Runtime.Images(ctx)
	if err != nil {
		return nil, err
	}
	uses, since, err := n.uses(ctx)
	if err != nil {
		return nil, err
	}
	l := newSnapshot(began, since, listed, uses)
	return l, n.age(at, l)
}

// uses is all that uses images, be it known to the runtime yet or not, and when the oldest answer came that says so. It lists the
// Pods twice: before, as the containers of a Pod may start while the Pod is deleted, and after, as Pods may be bound to the node while
// the runtime answers. Within a second both are the same list.
func (n *Node) uses(ctx context.Context) (uses cri.Uses, since time.Time, err error) {
	before, _, err := n.Cluster.Pods(ctx)
	if err != nil {
		return uses, since, fmt.Errorf("%w: %w", ErrPods, err)
	}
	uses, err = n.Runtime.Uses(ctx)
	if err != nil {
		return uses, since, err
	}
	answered := n.Clock.Now()
	after, since, err := n.Cluster.Pods(ctx)
	if err != nil {
		return uses, since, fmt.Errorf("%w: %w", ErrPods, err)
	}
	for _, listed := range [][]corev1.Pod{before, after} {
		for i := range listed {
			addPod(uses, &listed[i])
		}
	}
	if answered.Before(since) {
		since = answered
	}
	return uses, since, nil
}

// newSnapshot makes a look whose images have no age yet.
func newSnapshot(began, since time.Time, listed []cri.Image, uses cri.Uses) *snapshot {
	l := &snapshot{began: began, since: since, youngest: uses.Youngest, images: make([]image, len(listed)), byID: make(map[string]*image, len(listed))}
	for i, of := range listed {
		use, inUse := uses.Of(of)
		l.images[i] = image{use: use, Image: engine.Image{
			ID: of.ID, Tags: of.Tags, Digests: of.Digests, SizeBytes: of.SizeBytes, Pinned: of.Pinned,
			RuntimeHandler: of.RuntimeHandler, InUse: inUse,
		}}
		l.byID[of.ID] = &l.images[i]
	}
	return l
}

var (
	errStale = errors.New("a later read of the node finished first")
	errEmpty = errors.New("the runtime lists no images, but listed some a moment ago")
)

// age gives the images of a look their ages.
func (n *Node) age(at history.Reading, l *snapshot) error {
	seen := make([]history.Seen, len(l.images))
	for i := range l.images {
		seen[i] = history.Seen{ID: l.images[i].ID, InUse: l.images[i].InUse}
	}
	if l.outcome = n.History.Observe(at, seen); l.outcome.Stale {
		return errStale
	}
	n.save(at)
	if l.outcome.Doubted {
		return errEmpty
	}
	if again := len(l.outcome.PulledAgain); again > 0 && n.Again != nil {
		n.Again(again)
	}
	for i := range l.images {
		n.date(&l.images[i])
	}
	return nil
}

// date gives an image the age that it has by the last look.
func (n *Node) date(i *image) {
	record, known := n.History.Of(i.ID)
	i.ageless = !known
	i.FirstSeen, i.LastUsed, i.UnusedSince = record.FirstSeen, record.LastUsed, record.UnusedSince()
}

// saveEvery is how often the history is written at most, however many looks are taken while images are removed. What a crash
// makes of it is what it makes of the time without an agent.
const saveEvery = time.Second

// save has the ages kept, now or in a moment. That they cannot be written to disk is no error: what is known stays known, and
// the history tells.
func (n *Node) save(at history.Reading) {
	n.saving.Lock()
	defer n.saving.Unlock()
	now := n.Clock.Now()
	switch rest := saveEvery - now.Sub(n.saved); {
	case n.saved.IsZero(), rest <= 0, rest > saveEvery:
		n.saved = now
		_ = n.History.Save(at)
	case !n.toSave:
		n.toSave = true
		go func() {
			<-n.Clock.After(rest)
			n.saving.Lock()
			defer n.saving.Unlock()
			n.toSave, n.saved = false, n.Clock.Now()
			_ = n.History.Save(n.Readings())
		}()
	}
}

// addPod adds what a Pod of the node names, be it pulled or not: all of it until the Pod has ended, and the kubelet may still
// start what has been pulled.
func addPod(uses cri.Uses, pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return // what is left of it are containers, which count by themselves
	}
	name := pod.Namespace + "/" + pod.Name
	add := func(image string) { uses.Add(cri.Use{By: byPod, ID: name, Name: image}) }
	for _, c := range pod.Spec.InitContainers {
		add(c.Image)
	}
	for _, c := range pod.Spec.Containers {
		add(c.Image)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		add(c.Image)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			add(v.Image.Reference)
		}
	}
	for _, of := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for _, s := range of {
			add(s.Image)
			add(s.ImageID)
		}
	}
}

// formOf is all of an image that a verdict may rest on. Two forms are the same text only if they are the same.
func formOf(i *engine.Image) string {
	form := make([]byte, 0, 512) // without package fmt, as each look makes thousands of them
	for _, list := range [][]string{i.Tags, i.Digests, {i.RuntimeHandler}} {
		for _, text := range list {
			form = strconv.AppendQuote(form, text)
		}
		form = append(form, ' ')
	}
	form = strconv.AppendInt(form, i.SizeBytes, 10)
	for _, is := range []bool{i.Pinned, i.InUse} {
		form = strconv.AppendBool(append(form, ' '), is)
	}
	for _, t := range []time.Time{i.FirstSeen, i.LastUsed, i.UnusedSince} {
		form = strconv.AppendInt(append(form, ' '), t.UnixNano(), 10)
	}
	return string(form)
}

// snapshots takes one look at a time. All callers that asked before it began share it.
type snapshots struct {
	take   func(context.Context) (*snapshot, error)
	sights sights

	mu            sync.Mutex
	running, next *singleflight
	last          *singleflight // that has ended
}

type singleflight struct {
	done chan struct{}
	look *snapshot
	err  error
}

// lookTimeout bounds one look: each call it makes has a deadline of its own.
const lookTimeout = 2 * time.Minute

// fresh returns a look that began after the call. The error is that of the look, or ctx's.
func (l *snapshots) fresh(ctx context.Context) (*snapshot, error) {
	f := l.join()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.done:
		return f.look, f.err
	}
}

func (l *snapshots) join() *singleflight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &singleflight{done: make(chan struct{})}
		if l.running == nil {
			l.start()
		}
	}
	if l.next != nil {
		return l.next
	}
	return l.running
}

// start begins the next look. The caller holds mu.
func (l *snapshots) start() {
	f := l.next
	l.running, l.next = f, nil
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
		defer cancel()
		f.look, f.err = l.take(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		close(f.done)
		if l.running, l.last = nil, f; l.next != nil {
			l.start()
		}
	}()
}
