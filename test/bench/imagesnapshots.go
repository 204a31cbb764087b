// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// imageSnapshots is how often the images are listed and snapshots are taken.
const imageSnapshots = 20

// snapshots compares a bare ListImages call with the work of an agent until it has evaluated all images: list images and what
// uses them, update their ages, and evaluate a rule.
func (b *imageBench) snapshots(ctx context.Context, n *imageNode) error {
	var lists waits
	for range imageSnapshots {
		began := time.Now()
		if _, err := n.Runtime().Images(ctx); err != nil {
			return err
		}
		lists = append(lists, time.Since(began))
	}
	looks, err := b.snapshotAndEvaluate(ctx, n)
	if err != nil {
		return err
	}
	version, _, _ := strings.Cut(n.Version(), "+")
	b.table.add(fmt.Sprintf("ListImages, %d images", b.size.images), lists.text(), "containerd "+version)
	b.table.add("snapshot of the node and evaluation of all images", looks.text(), looks.beside(lists)+" ListImages")
	return nil
}

// snapshotAndEvaluate lets an agent's Source take repeated snapshots of a node. Each starts without results of earlier ones.
func (b *imageBench) snapshotAndEvaluate(ctx context.Context, n *imageNode) (looks waits, err error) {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		return nil, err
	}
	p, err := b.get(ctx, imagesName)
	if err != nil {
		return nil, err
	}
	rule, problems := compiler.Rule(p.Spec.Rules[0], nil, "rule")
	if len(problems) > 0 {
		return nil, fmt.Errorf("compile: %v", problems)
	}
	readings, err := history.NodeClock(time.Now)
	if err != nil {
		return nil, err
	}
	state, err := os.MkdirTemp(b.dir, "ages-")
	if err != nil {
		return nil, err
	}
	kept, err := history.Open(state, readings(), history.Options{Machine: b.node, Gap: 2 * images.DefaultInterval, Every: images.DefaultInterval / 2})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	node := images.New(images.Options{
		Runtime: n.Runtime(), Cluster: lonely{}, History: kept, Readings: readings, Clock: clock.RealClock{}, Compiler: compiler,
		Interval: images.DefaultInterval,
	})
	questions := retention.NewRuleSet(v1alpha1.ImageKind, []*engine.Program{rule}, nil)
	for range imageSnapshots {
		took, err := firstSnapshot(ctx, node.Open(questions))
		if err != nil {
			return nil, err
		}
		looks = append(looks, took)
	}
	return looks, nil
}

// firstSnapshot runs a Source until it has reported all images.
func firstSnapshot(ctx context.Context, s retention.Source) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	told, ended := make(seen, 1), make(chan struct{})
	began := time.Now()
	go func() { defer close(ended); s.Run(ctx, told) }()
	var err error
	select {
	case err = <-told:
	case <-ctx.Done():
		err = ctx.Err()
	}
	took := time.Since(began)
	cancel()
	<-ended
	return took, err
}

// seen is a retention.Sink. It receives nil once the Source has reported all images, or the reason why it cannot.
type seen chan error

func (s seen) tell(err error) {
	select {
	case s <- err:
	default:
	}
}

// Replace implements retention.Sink.
func (s seen) Replace([]*index.FactRow) { s.tell(nil) }

// Lost implements retention.Sink.
func (s seen) Lost(why *retention.SourceError) {
	if why != nil {
		s.tell(errors.New(why.Message))
	}
}

// Apply implements retention.Sink.
func (s seen) Apply(*index.FactRow) {}

// Forget implements retention.Sink.
func (s seen) Forget(types.UID) {}

// Undeletable implements retention.Sink.
func (s seen) Undeletable(*retention.SourceError) {}

// Unmarkable implements retention.Sink.
func (s seen) Unmarkable(*retention.SourceError) {}

// lonely is a cluster whose node has no Pods. It implements images.Cluster.
type lonely struct{}

// Pods implements images.Cluster.
func (lonely) Pods(context.Context) ([]corev1.Pod, time.Time, error) { return nil, time.Now(), nil }

// Node implements images.Cluster.
func (lonely) Node() (*engine.Node, error) { return &engine.Node{Name: "bench"}, nil }
