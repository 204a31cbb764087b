// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// NodeName is the name of the i-th fake node, counted from zero.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// AddNodes starts kwok with n nodes in a cluster that was started without nodes, and returns when they are Ready. It builds
// kwok if necessary. It may be called once per cluster.
func (c *Cluster) AddNodes(ctx context.Context, n int) error {
	paths, err := Binaries(ctx, c.opts.progress(), Kwok)
	if err != nil {
		return err
	}
	c.paths[Kwok], c.opts.Nodes = paths[Kwok], n
	return c.beginNodes(ctx)
}

// createNodes creates Options.Nodes nodes with concurrent requests.
func (c *Cluster) createNodes(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range c.opts.Nodes {
		g.Go(func() error {
			_, err := client.CoreV1().Nodes().Create(ctx, fakeNode(NodeName(i)), metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

func fakeNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{kwokNode: kwokNodeValue},
		Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
		},
	}}
}

// nodesReady waits until every node is Ready.
func (c *Cluster) nodesReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = poll(ctx, func() error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		return allReady(nodes.Items, c.opts.Nodes)
	})
	if err != nil {
		return fmt.Errorf("wait for nodes: %w\n%s", err, c.tail(Kwok))
	}
	return nil
}

// allReady returns an error unless want nodes have the condition Ready.
func allReady(nodes []corev1.Node, want int) error {
	ready := 0
	for _, n := range nodes {
		for _, cond := range n.Status.Conditions {
			if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready < want {
		return fmt.Errorf("%d of %d nodes are ready", ready, want)
	}
	return nil
}

// tail returns the last lines of a component's log.
func (c *Cluster) tail(component Component) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(component)
	if err != nil {
		return nil
	}
	return s.proc.tail()
}
