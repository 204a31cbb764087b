// SPDX-License-Identifier: Apache-2.0

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
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/engine"
)

// snapshot has the images of the node at one moment.
type snapshot struct {
	began    time.Time
	since    time.Time // time of the oldest answer about which images are in use
	youngest time.Time // when the youngest container or sandbox was created; zero without any
	images   []image
	byID     map[string]*image
}

// image is one image with its use and age.
type image struct {
	engine.Image
	version string
	use     cri.Use // one of its uses, if InUse
	ageless bool    // its age is unknown
}

// ErrPods is wrapped by the error of a snapshot that fails because the Pods of the node cannot be listed.
var ErrPods = errors.New("list the Pods of the node")

// byPod is the cri.Use.By of an image that a Pod names.
const byPod = "Pod"

// takeSnapshot lists the images first and then their use: an image that comes into use in between counts as used.
func (n *Node) takeSnapshot(ctx context.Context) (*snapshot, error) {
	l, err := n.readSnapshot(ctx)
	if err == nil {
		n.note(l)
		n.settle(ctx, l)
	}
	n.noteResult(err)
	return l, err
}

// noteResult records the error of a snapshot; nil if it succeeded. Without a running source it records no error, because nothing
// reads the node again, and so the error would never end.
func (n *Node) noteResult(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sources == 0 {
		err = nil
	}
	n.lastErr = err
	switch {
	case !isOfRuntime(err):
		n.away = time.Time{}
	case n.away.IsZero():
		n.away = n.Clock.Now()
	}
}

// isOfRuntime reports whether a snapshot failed because the runtime does not listen on its socket.
func isOfRuntime(err error) bool {
	return err != nil && !errors.Is(err, ErrPods) && cri.Code(err) == codes.Unavailable.String()
}

func (n *Node) readSnapshot(ctx context.Context) (*snapshot, error) {
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

// uses returns everything that uses images, whether the runtime has them or not, and the time of the oldest answer. It lists
// the Pods twice. It lists them before the runtime answers because the containers of a Pod may start while the Pod is deleted.
// It lists them afterwards because Pods may be bound to the node in between. Within a second both are the same list.
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

// newSnapshot returns a snapshot whose images have no age yet.
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

// age sets the ages of the images in a snapshot.
func (n *Node) age(at history.Reading, l *snapshot) error {
	seen := make([]history.Seen, len(l.images))
	for i := range l.images {
		seen[i] = history.Seen{ID: l.images[i].ID, InUse: l.images[i].InUse}
	}
	outcome := n.History.Observe(at, seen)
	if outcome.Stale {
		return errStale
	}
	n.save(at)
	if outcome.Doubted {
		return errEmpty
	}
	if outcome.PulledAgain > 0 && n.PulledAgain != nil {
		n.PulledAgain(outcome.PulledAgain)
	}
	for i := range l.images {
		n.date(&l.images[i])
	}
	return nil
}

// date sets the age of an image from the last snapshot.
func (n *Node) date(i *image) {
	record, known := n.History.Of(i.ID)
	i.ageless = !known
	i.FirstSeen, i.LastUsed, i.UnusedSince = record.FirstSeen, record.LastUsed, record.UnusedSince()
}

// saveEvery is the minimum time between two writes of the history, even if removals cause many snapshots. After a crash, that
// time counts like time in which the agent did not run.
const saveEvery = time.Second

// save saves the ages, now or in a moment. A failed write is not an error here: the ages stay in memory, and the history
// reports it.
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

// addPod adds all images that a Pod of the node names, whether they have been pulled or not. They count until the Pod has
// ended, because the kubelet may still start them.
func addPod(uses cri.Uses, pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return // its remaining containers count on their own
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

// formOf encodes everything about an image that a decision may depend on. Different forms have different encodings.
func formOf(i *engine.Image) string {
	form := []byte(contentOf(i))
	form = strconv.AppendBool(append(form, ' '), i.InUse)
	for _, t := range []time.Time{i.FirstSeen, i.LastUsed, i.UnusedSince} {
		form = strconv.AppendInt(append(form, ' '), t.UnixNano(), 10)
	}
	return string(form)
}

// contentOf encodes the form of an image without its use and its age.
func contentOf(i *engine.Image) string {
	form := make([]byte, 0, 512) // without package fmt, because each snapshot encodes thousands of images
	for _, list := range [][]string{i.Tags, i.Digests, {i.RuntimeHandler}} {
		for _, text := range list {
			form = strconv.AppendQuote(form, text)
		}
		form = append(form, ' ')
	}
	form = strconv.AppendInt(form, i.SizeBytes, 10)
	return string(strconv.AppendBool(append(form, ' '), i.Pinned))
}

// snapshots takes one snapshot at a time. All callers that asked before it began share it.
type snapshots struct {
	take  func(context.Context) (*snapshot, error)
	clock clock.PassiveClock

	mu            sync.Mutex
	running, next *singleflight
	last          *singleflight // the last one that has ended
}

type singleflight struct {
	began    time.Time
	done     chan struct{}
	snapshot *snapshot
	err      error
}

// snapshotTimeout bounds one snapshot. In addition, each call has its own deadline.
const snapshotTimeout = 2 * time.Minute

// fresh returns a snapshot that began after the call. The error is that of the snapshot, or of ctx.
func (l *snapshots) fresh(ctx context.Context) (*snapshot, error) {
	return l.join().wait(ctx)
}

func (f *singleflight) wait(ctx context.Context) (*snapshot, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.done:
		return f.snapshot, f.err
	}
}

// latest returns the last snapshot that has ended and the one in progress; nil without one.
func (l *snapshots) latest() (last, running *singleflight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.running
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

// start begins the next snapshot. The caller holds mu.
func (l *snapshots) start() {
	f := l.next
	l.running, l.next, f.began = f, nil, l.clock.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), snapshotTimeout)
		defer cancel()
		f.snapshot, f.err = l.take(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		close(f.done)
		if l.running, l.last = nil, f; l.next != nil {
			l.start()
		}
	}()
}
