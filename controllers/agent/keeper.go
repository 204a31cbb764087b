package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/images"
	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// keeper counts the images by the rules in force, and has more of them go while the filesystem is too full. It is a
// manager.Runnable.
type keeper struct {
	clock      clock.Clock
	node       *images.Node
	disk       *disk
	rules      *rules
	reconciler *retention.Reconciler
	reporter   *reporter

	mu    sync.Mutex
	space space
}

const (
	// countEvery is how often images are counted.
	countEvery = 10 * time.Second
	// pressedEvery is how often while the filesystem is too full.
	pressedEvery = time.Second
)

// Start implements manager.Runnable.
func (k *keeper) Start(ctx context.Context) error {
	for {
		next := countEvery
		if k.keep(ctx) {
			next = pressedEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.clock.After(next):
		}
	}
}

// keep counts once, and reports whether the filesystem is too full.
func (k *keeper) keep(ctx context.Context) (pressed bool) {
	imagesPresent.Set(float64(k.node.Total().Images))
	book := k.rules.Book()
	if book == nil {
		_ = k.rules.Check(ctx, "") // there may be none, of which no watch tells
		k.reporter.report(ctx, nil, nil, nil)
		return false
	}
	if asksForSpace(book) {
		k.disk.locate(ctx)
	}
	tallies := k.count(book)
	usage, err := k.disk.usage()
	switch {
	case tallies == nil:
	case err != nil:
		k.press(book, tallies, v1alpha1.NodeImageFilesystem{})
	default:
		pressed = k.press(book, tallies, usage)
	}
	var seen *v1alpha1.NodeImageFilesystem
	if err == nil {
		seen = &usage
	}
	k.reporter.report(ctx, book, tallies, seen)
	return pressed
}

// asksForSpace reports whether a rule reads how full the filesystem is.
func asksForSpace(book *policy.Book) bool {
	return slices.ContainsFunc(book.Rules(v1alpha1.ImageKind.GroupKind()), func(r *policy.Rule) bool { return r.Images.HasThresholds })
}

// press measures the filesystem, and puts in force what comes of it.
func (k *keeper) press(book *policy.Book, t *policy.Tallies, usage v1alpha1.NodeImageFilesystem) (pressed bool) {
	counts := func(id policy.RuleID) (eligible, due int) {
		tally := t.Policies[id.Policy]
		if tally == nil || tally.Rules[id.Rule] == nil {
			return 0, 0
		}
		rule := tally.Rules[id.Rule]
		return int(rule.Eligible), int(rule.Due.Now)
	}
	k.mu.Lock()
	changed := k.space.measure(book.Rules(v1alpha1.ImageKind.GroupKind()), usage, counts)
	pressed = len(k.space.room) > 0
	k.mu.Unlock()
	if changed {
		k.rules.Again()
	}
	return pressed
}

// bound gives policies as much room as the filesystem leaves.
func (k *keeper) bound(policies []*policy.Policy) []*policy.Policy {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.space.bound(policies)
}

// pressed reports whether want of space lets images of a rule go.
func (k *keeper) pressed(id policy.RuleID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, pressed := k.space.room[id]
	return pressed
}

// count counts all images by the rules of a book; nil while they are not known, or not judged by it.
func (k *keeper) count(book *policy.Book) *policy.Tallies {
	tallies := policy.NewTallies(k.clock.Now())
	tallies.Weigh = func(s policy.Subject) int64 { return k.node.Brief(s.Name).Bytes }
	if len(book.Kinds()) == 0 {
		return tallies
	}
	at := k.index(book)
	if at == nil {
		return nil
	}
	at.Scan(tallies.Add)
	return tallies
}

// index is where the images are; nil while they are not known, or not judged by a book.
func (k *keeper) index(book *policy.Book) *index.Index {
	kinds := k.reconciler.Kinds()
	if len(kinds) != 1 || kinds[0].Lost != nil || kinds[0].Relisting {
		return nil
	}
	known := kinds[0].Index
	for _, r := range book.Rules(v1alpha1.ImageKind.GroupKind()) {
		if !known.Has(book, r) {
			return nil
		}
	}
	return known
}
