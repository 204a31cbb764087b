// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/engine"
)

// cluster is the state of the node in the API server. It implements images.Cluster.
type cluster struct {
	live  client.Reader // bypasses every cache
	clock clock.PassiveClock
	name  string // of the node
	disk  *disk

	mu   sync.Mutex
	node *corev1.Node // nil until the agent has read it, and after its deletion

	reading sync.Mutex // held during a read, so that all waiting callers share it
	read    time.Time  // when the API server last answered
	pods    []corev1.Pod
}

var _ images.Cluster = (*cluster)(nil)

// podsAge is the maximum age of the list of Pods. While an agent removes images it sends a request that often, and there may be
// thousands of nodes.
const podsAge = time.Second

// podsTimeout bounds one list request for the Pods of a node.
const podsTimeout = 3 * time.Second

// Pods implements images.Cluster.
func (c *cluster) Pods(ctx context.Context) (pods []corev1.Pod, since time.Time, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if !c.read.IsZero() && lease.Elapsed(c.clock.Now(), c.read) < podsAge {
		return c.pods, c.read, nil
	}
	ctx, cancel := context.WithTimeout(ctx, podsTimeout)
	defer cancel()
	list := &corev1.PodList{}
	if err := c.live.List(ctx, list, client.MatchingFields{"spec.nodeName": c.name}); err != nil {
		return nil, since, err
	}
	c.pods, c.read = list.Items, c.clock.Now()
	return c.pods, c.read, nil
}

var errNoNode = errors.New("the agent has not read its Node object yet, or the Node does not exist")

// Node implements images.Cluster.
func (c *cluster) Node() (*engine.Node, error) {
	filesystem, _ := c.disk.usage() // nil while it is unknown; without the lock, because a filesystem may hang
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.node == nil {
		return nil, errNoNode
	}
	return &engine.Node{Name: c.node.Name, Labels: c.node.Labels, Filesystem: filesystem}, nil
}

// confirm reads the node from the API server, because a watch may lag behind. It reports whether its labels have changed. If the
// answer is older than what was known before the request, the API server was restored from a backup, and the answer counts.
func (c *cluster) confirm(ctx context.Context) (relabelled bool, err error) {
	c.mu.Lock()
	before := c.node
	c.mu.Unlock()
	node := &corev1.Node{}
	if err := c.live.Get(ctx, client.ObjectKey{Name: c.name}, node); err != nil {
		return false, fmt.Errorf("read the node: %w", err)
	}
	_, _ = withoutStatus(node)
	if before != nil && isOlder(node, before) {
		c.set(nil)
	}
	return c.set(node), nil
}

// isOlder reports whether an object is an earlier version of another, as from a watch that lags behind; false if they cannot be
// compared.
func isOlder(object, than metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), than.GetResourceVersion())
	return err == nil && order < 0 && object.GetUID() == than.GetUID()
}

// set stores the current node; nil after its deletion. It ignores a version that is older than the stored one. It reports
// whether the labels have changed.
func (c *cluster) set(node *corev1.Node) (relabelled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.node
	if node != nil && before != nil && isOlder(node, before) {
		return false
	}
	c.node = node
	return before == nil || node == nil || !maps.Equal(before.Labels, node.Labels)
}

// labels returns the labels of the node; false while it is unknown.
func (c *cluster) labels() (map[string]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.node == nil {
		return nil, false
	}
	return c.node.Labels, true
}

// identity returns the name and UID of the node; false while it is unknown.
func (c *cluster) identity() (name string, uid types.UID, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.node == nil {
		return "", "", false
	}
	return c.node.Name, c.node.UID, true
}
