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

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// source is a retention.Source of the images of a node.
type source struct {
	node *Node
	asks retention.RuleSet
	late map[types.UID]bool // images of which an evaluation took too long: they are evaluated again after the next look
}

// Reasons why nothing is known of the images.
const (
	runtimeUnreachable = "RuntimeUnreachable"
	nodeUnknown        = "NodeUnknown"
)

// Run implements retention.Source. It looks at the node again and again, and tells what differs.
func (s *source) Run(ctx context.Context, sink retention.Sink) {
	var told map[types.UID]string // versions; nil until all has been told
	var about string              // what the rules were told of the node
	delay := retries().DelayWithReset(s.node.Clock, time.Minute)
	for ctx.Err() == nil {
		differs := s.node.differs()
		rows, versions, node, trouble := s.rows(ctx, told, about)
		switch {
		case ctx.Err() != nil:
			return
		case trouble != nil:
			told = nil
			sink.Lost(trouble)
			log.FromContext(ctx).V(1).Info("images are not known", "why", trouble.Message)
			s.pause(ctx, delay())
			continue
		case told == nil, node != about:
			sink.Undeletable(nil)
			sink.Replace(rows)
		default:
			tell(sink, rows, told, versions)
		}
		told, about = versions, node
		s.node.wasTold(told)
		s.wait(ctx, differs)
	}
}

// lookAgain is how soon a look follows another one that was taken meanwhile, right before a removal, and found a difference.
const lookAgain = time.Second

// wait waits until it is time to look again. The look before may itself have found a difference: that one is told already.
func (s *source) wait(ctx context.Context, differs <-chan struct{}) {
	select {
	case <-differs:
		differs = s.node.differs()
	default:
	}
	soon := min(lookAgain, s.node.Interval)
	s.pause(ctx, soon)
	select {
	case <-ctx.Done():
	case <-differs:
	case <-s.node.Clock.After(wait.Jitter(s.node.Interval, 0.1) - soon):
	}
}

// retries spaces the looks that fail.
func retries() *wait.Backoff {
	return &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 15 * time.Second}
}

func (s *source) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-s.node.Clock.After(d):
	}
}

// tell tells a sink what differs from what it was told, and what is not there any more.
func tell(sink retention.Sink, differ []*index.FactRow, told, versions map[types.UID]string) {
	for _, row := range differ {
		sink.Apply(row)
	}
	for uid := range told {
		if _, there := versions[uid]; !there {
			sink.Forget(uid)
		}
	}
}

// rows takes a look at the node and asks the rules about each image that differs from what was told, or about all if
// nothing was, or what they read of the node itself differs. It also gives the versions of all, and that.
func (s *source) rows(ctx context.Context, told map[types.UID]string, before string) (
	differ []*index.FactRow, versions map[types.UID]string, about string, trouble *retention.SourceError) {
	l, err := s.node.looks.fresh(ctx)
	if err != nil {
		return nil, nil, "", &retention.SourceError{Reason: runtimeUnreachable, Message: err.Error()}
	}
	judge, about, err := s.judge(ctx)
	if err != nil {
		return nil, nil, "", &retention.SourceError{Reason: nodeUnknown, Message: err.Error()}
	}
	defer judge.Close()
	versions = make(map[types.UID]string, len(l.images))
	late := map[types.UID]bool{}
	for i := range l.images {
		image := &l.images[i]
		uid := image.Subject().UID
		versions[uid] = image.version
		if told == nil || about != before || told[uid] != image.version || s.late[uid] {
			row := s.row(judge, image)
			differ = append(differ, row)
			if isLate(row) {
				late[uid] = true
			}
		}
	}
	s.late = late
	return differ, versions, about, nil
}

func isLate(row *index.FactRow) bool {
	return slices.ContainsFunc(row.Facts(), func(f policy.Facts) bool { return errors.Is(f.Err, engine.ErrDeadline) })
}

// judge makes an evaluator that knows the node, and gives what the rules read of it.
func (s *source) judge(ctx context.Context) (*engine.Evaluator, string, error) {
	node, err := s.node.Cluster.Node()
	if err != nil {
		return nil, "", err
	}
	evaluator := s.node.Compiler.NewEvaluator(ctx)
	evaluator.SetNode(node)
	about := ""
	object := node.Object()
	for _, rule := range s.asks.Rules() {
		for _, path := range rule.NodeReads() {
			field, _, _ := strings.Cut(path, ".")
			value, named := object[field]
			if !named {
				value = object // the node as a whole
			}
			about += fmt.Sprintf("%s=%v ", path, value)
		}
	}
	return evaluator, about, nil
}

var errAgeless = errors.New("image age unknown")

func (s *source) row(judge *engine.Evaluator, i *image) *index.FactRow {
	subject, object, asked := i.Subject(), i.Object(), s.asks.About("")
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
	l, err := s.node.looks.fresh(ctx)
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
