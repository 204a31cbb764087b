// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// source is a retention.Source of the images of a node.
type source struct {
	node  *Node
	rules retention.RuleSet
	late  map[types.UID]bool // images whose evaluation took too long: they are evaluated again after the next snapshot

	contents map[string]string // of the images in the last snapshot, by ID
}

// Reasons why the images are unknown.
const (
	runtimeUnreachable = "RuntimeUnreachable"
	nodeUnknown        = "NodeUnknown"
)

// Run implements retention.Source. It takes snapshots of the node until ctx ends, and passes the differences to sink.
func (s *source) Run(ctx context.Context, sink retention.Sink) {
	var known map[types.UID]string // versions that sink has; nil until it has all images
	var about string               // fields of the node that the rules have read
	delay := retries().DelayWithReset(s.node.Clock, 5*time.Minute)
	s.node.countSources(1)
	defer s.node.countSources(-1)
	for ctx.Err() == nil {
		differs := s.node.changed.C()
		rows, versions, node, sourceErr := s.rows(ctx, known, about)
		switch {
		case ctx.Err() != nil:
			return
		case sourceErr != nil:
			known = nil
			sink.Lost(sourceErr)
			log.FromContext(ctx).V(1).Info("images unknown", "why", sourceErr.Message)
			wake.Sleep(ctx, s.node.Clock, delay())
			continue
		case known == nil, node != about:
			sink.Undeletable(nil)
			sink.Replace(rows)
		default:
			tell(sink, rows, known, versions)
		}
		known, about = versions, node
		s.node.setReceived(s.contents)
		s.wait(ctx, differs)
	}
}

// countSources counts a source that begins or ends.
func (n *Node) countSources(more int) {
	n.mu.Lock()
	n.sources += more
	none := n.sources == 0
	n.mu.Unlock()
	if none {
		n.noteResult(nil)
	}
}

// lookAgain is the delay after which a difference that another snapshot has found, right before a removal, causes a snapshot
// here.
const lookAgain = time.Second

// wait waits until the next snapshot is due. If the last snapshot itself found a difference, sink has it already.
func (s *source) wait(ctx context.Context, differs <-chan struct{}) {
	select {
	case <-differs:
		differs = s.node.changed.C()
	default:
	}
	soon := min(lookAgain, s.node.Interval)
	wake.Sleep(ctx, s.node.Clock, soon)
	select {
	case <-ctx.Done():
	case <-differs:
	case <-s.node.Clock.After(wait.Jitter(s.node.Interval, 0.1) - soon):
	}
}

// retries is the backoff after failed snapshots: in the end they are as far apart as snapshots that succeed, because all nodes may
// fail together.
func retries() *wait.Backoff {
	return &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: time.Minute}
}

// tell passes changed and deleted images to a sink.
func tell(sink retention.Sink, differ []*index.FactRow, known, versions map[types.UID]string) {
	for _, row := range differ {
		sink.Apply(row)
	}
	for uid := range known {
		if _, there := versions[uid]; !there {
			sink.Forget(uid)
		}
	}
}

// rows takes a snapshot of the node. It evaluates each image that differs from the versions in known. It evaluates all images if
// known is nil, or if the fields of the node that the rules read have changed. It returns the evaluated images, the versions of
// all images, and those fields.
func (s *source) rows(ctx context.Context, known map[types.UID]string, before string) (
	differ []*index.FactRow, versions map[types.UID]string, about string, sourceErr *retention.SourceError) {
	l, err := s.node.snapshots.fresh(ctx)
	if err != nil {
		return nil, nil, "", &retention.SourceError{Reason: runtimeUnreachable, Message: err.Error()}
	}
	judge, about, err := s.judge(ctx)
	if err != nil {
		return nil, nil, "", &retention.SourceError{Reason: nodeUnknown, Message: err.Error()}
	}
	defer judge.Close()
	versions = make(map[types.UID]string, len(l.images))
	late, contents := map[types.UID]bool{}, make(map[string]string, len(l.images))
	for i := range l.images {
		image := &l.images[i]
		uid := image.Subject().UID
		versions[uid], contents[image.ID] = image.version, contentOf(&image.Image)
		if known == nil || about != before || known[uid] != image.version || s.late[uid] {
			row := s.row(judge, image)
			differ = append(differ, row)
			if isLate(row) {
				late[uid] = true
			}
		}
	}
	s.late, s.contents = late, contents
	return differ, versions, about, nil
}

func isLate(row *index.FactRow) bool {
	return slices.ContainsFunc(row.Facts(), func(f policy.Facts) bool { return errors.Is(f.Err, engine.ErrDeadline) })
}

// judge returns an evaluator for the node, and the fields of the node that the rules read.
func (s *source) judge(ctx context.Context) (*engine.Evaluator, string, error) {
	node, err := s.node.Cluster.Node()
	if err != nil {
		return nil, "", err
	}
	evaluator := s.node.Compiler.NewEvaluator(ctx)
	evaluator.SetNode(node)
	about := ""
	object := node.Object()
	for _, rule := range s.rules.Rules() {
		for _, path := range rule.NodeReads() {
			field, _, _ := strings.Cut(path, ".")
			value, named := object[field]
			if !named {
				value = object // the whole node
			}
			about += fmt.Sprintf("%s=%v ", path, value)
		}
	}
	return evaluator, about, nil
}

var errAgeless = errors.New("image age unknown")

func (s *source) row(judge *engine.Evaluator, i *image) *index.FactRow {
	subject, object, asked := i.Subject(), i.Object(), s.rules.About("")
	subject.ResourceVersion = i.version
	facts := make([]policy.Facts, len(asked.Rules))
	for k, rule := range asked.Rules {
		if i.ageless {
			facts[k] = policy.Facts{Selected: true, Err: errAgeless}
		} else {
			facts[k] = judge.Facts(rule, object)
		}
	}
	return index.NewFactRow(subject, asked.Layout, facts...)
}

// Read implements retention.Source.
func (s *source) Read(ctx context.Context, subject policy.Subject, take func(*index.FactRow)) error {
	l, err := s.node.snapshots.fresh(ctx)
	if err != nil {
		return err
	}
	i := l.byID[subject.Name]
	if i == nil {
		take(nil)
		return nil
	}
	judge, _, err := s.judge(ctx)
	if err != nil {
		return err
	}
	defer judge.Close()
	take(s.row(judge, i))
	return nil
}
