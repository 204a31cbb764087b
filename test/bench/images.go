// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/program"
)

const (
	imagesName = "images"
	// With imagesTTL no image is due. With imagesDue all are due soon after an agent has started.
	imagesTTL, imagesDue = "30d", "3s"
)

const imagesPolicy = `
  mode: Enforce
  rules:
  - name: unused
    target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
    eligible: object.spec.tags.all(t, t.startsWith('bench.test/'))
    ttl: 30d
    images: {minAge: 1s}
`

// imageBench measures the effect of a node agent on a node with many images, and the cost of the agent itself.
type imageBench struct {
	*environment
	agent string // path of the program
	node  string // name of the node
}

// images measures everything about images. Each measurement uses a new containerd with the same images.
func (l *environment) images(ctx context.Context) error {
	b := &imageBench{environment: l, node: "bench"}
	var err error
	if b.agent, err = program.Build(ctx, l.dir, "sunset-node-agent"); err != nil {
		return err
	}
	sunset, err := l.startSunset()
	if err != nil {
		return err
	}
	defer sunset.stop()
	if err := l.policy.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.node}}); err != nil {
		return err
	}
	if _, err := l.apply(ctx, imagesName, imagesPolicy); err != nil {
		return err
	}
	defer func() { _ = l.remove(context.WithoutCancel(ctx), imagesName) }()
	for _, part := range []func(context.Context) error{b.nothingDue, b.allDue, b.rates, b.podStarts} {
		err := part(ctx)
		if errors.Is(err, containerd.ErrMachine) && l.only != imagesName {
			l.table.add("images of a node", "left out", err.Error())
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allDue makes every image due a few seconds after an agent first sees it.
func (b *imageBench) allDue(ctx context.Context) error {
	if err := b.edit(ctx, imagesName, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = imagesDue }); err != nil {
		return err
	}
	p, err := b.get(ctx, imagesName)
	if err != nil {
		return err
	}
	told, err := b.rulesRead(ctx, func(t v1alpha1.NodeImagePolicy) bool { return t.Generation == p.Generation })
	if err != nil {
		return err
	}
	if err := b.policy.Create(ctx, fixture.Approval(p, (&policy.Policy{UID: p.UID, Hash: told.Hash}).ApprovalHash())); err != nil {
		return err
	}
	_, err = b.rulesRead(ctx, func(t v1alpha1.NodeImagePolicy) bool { return t.Hash == told.Hash && len(t.Unapproved) == 0 })
	return err
}

// rulesRead waits until the controller publishes the wanted policy to nodes.
func (b *imageBench) rulesRead(ctx context.Context, want func(v1alpha1.NodeImagePolicy) bool) (v1alpha1.NodeImagePolicy, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		rules := &v1alpha1.NodeImageRules{}
		err := b.policy.Get(ctx, client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, rules)
		of := slices.IndexFunc(rules.Policies, func(t v1alpha1.NodeImagePolicy) bool { return t.Name == imagesName })
		if err == nil && of >= 0 && want(rules.Policies[of]) {
			return rules.Policies[of], nil
		}
		if paused := pause(ctx, 100*time.Millisecond); paused != nil {
			return v1alpha1.NodeImagePolicy{}, fmt.Errorf("policy %s as published to nodes: %w", imagesName, errors.Join(err, paused))
		}
	}
}
