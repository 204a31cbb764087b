// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/net"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The label of an agent's Pod, and the port where it serves its images.
const (
	agentLabel       = "app.kubernetes.io/name=sunset-node-agent"
	agentPort        = "metrics" // the name of the port; agentPortDefault if no port has this name
	agentPortDefault = 8080
)

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// NodeImages gets the images of a node from its agent, through the API server's proxy. The agents run in namespace; empty means
// any. The error says how to fix it.
func (c *Cluster) NodeImages(ctx context.Context, node, namespace string) (*debug.NodeImages, error) {
	a, err := c.agent(ctx, node, namespace)
	if err != nil {
		return nil, err
	}
	answer, err := c.raw.Get().AbsPath("/api/v1/namespaces", a.Namespace, "pods", a.address(), "proxy", debug.Path).DoRaw(ctx)
	if err != nil {
		return nil, a.proxyError(answer, err)
	}
	seen, err := debug.Read(answer)
	if err == nil && seen.Node.Name != node {
		err = fmt.Errorf("it is for node %q", seen.Node.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("decode the response of %s: %w; its version may differ from the version of this command", a, err)
	}
	return seen, nil
}

// NodeReports returns the reports of all agents.
func (c *Cluster) NodeReports(ctx context.Context) (reports []v1alpha1.NodeImageReport, err error) {
	err = c.eachObject(ctx, v1alpha1.GroupVersion.WithResource("nodeimagereports"), "", metav1.ListOptions{}, decoded(&reports))
	return reports, err
}

// agent is the Pod of an agent.
type agent struct{ *corev1.Pod }

// String names the Pod for errors.
func (a agent) String() string { return "Pod " + a.Namespace + "/" + a.Name }

// agent finds the agent of a node.
func (c *Cluster) agent(ctx context.Context, node, namespace string) (agent, error) {
	found := &corev1.PodList{}
	err := c.raw.Get().AbsPath("/api/v1").Namespace(namespace).Resource("pods").Param("labelSelector", agentLabel).
		Param("fieldSelector", fields.OneTermEqualSelector("spec.nodeName", node).String()).Do(ctx).Into(found)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; you need permission to list pods %s; --agent-namespace sets the namespace of the agents", err, where(namespace))
	}
	if err != nil {
		return agent{}, fmt.Errorf("find the agent on node %s: %w", node, err)
	}
	var running, idle []string
	var one *corev1.Pod
	for i := range found.Items {
		pod := &found.Items[i]
		name := agent{pod}.String()
		switch {
		case pod.DeletionTimestamp != nil:
			idle = append(idle, name+" is being deleted")
		case pod.Status.Phase != corev1.PodRunning:
			idle = append(idle, fmt.Sprintf("%s is %s", name, pod.Status.Phase))
		default:
			one, running = pod, append(running, name)
		}
	}
	switch {
	case len(running) == 1:
		return agent{one}, nil
	case len(running) > 1:
		return agent{}, fmt.Errorf("node %s has more than one agent: %s", node, strings.Join(running, ", "))
	case len(idle) > 0:
		return agent{}, fmt.Errorf("the agent on node %s is not running: %s", node, strings.Join(idle, ", "))
	default:
		return agent{}, c.noAgent(ctx, node, namespace)
	}
}

// noAgent says why a node has no agent.
func (c *Cluster) noAgent(ctx context.Context, node, namespace string) error {
	if _, err := c.metadata.Resource(nodes).Get(ctx, node, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return fmt.Errorf("the cluster has no node %q", node)
	}
	return fmt.Errorf("no agent on node %s: no Pod on it has label %s %s; set --agent-namespace to the namespace of the agents", node, agentLabel, where(namespace))
}

func where(namespace string) string {
	if namespace == "" {
		return "in any namespace"
	}
	return "in namespace " + namespace
}

// address names the Pod and its port for the API server's proxy.
func (a agent) address() string { return net.JoinSchemeNamePort("", a.Name, strconv.Itoa(a.port())) }

func (a agent) port() int {
	for _, container := range a.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == agentPort {
				return int(port.ContainerPort)
			}
		}
	}
	return agentPortDefault
}

// proxyError explains a failed request. An error of the API server comes as a Status; any other response comes from the Pod.
func (a agent) proxyError(answer []byte, err error) error {
	var coded apierrors.APIStatus
	if !errors.As(err, &coded) {
		return fmt.Errorf("query the agent, %s: %w", a, err)
	}
	var status metav1.Status
	if json.Unmarshal(answer, &status) != nil || status.Kind != "Status" {
		return a.answerError(int(coded.Status().Code), answer)
	}
	if status.Reason == metav1.StatusReasonForbidden {
		return fmt.Errorf("query the agent: %s; you need permission to get pods/proxy in namespace %s", status.Message, a.Namespace)
	}
	return fmt.Errorf("the API server cannot reach the agent, %s at port %d: %s; an agent with --metrics-bind-address=0 serves no requests", a, a.port(), status.Message)
}

// answerError reports a response of the Pod that is not a list of images.
func (a agent) answerError(code int, answer []byte) error {
	if code == http.StatusNotFound {
		return fmt.Errorf("%s serves no images at port %d: its agent is older than this command, or another process uses the port", a, a.port())
	}
	return fmt.Errorf("the agent, %s, returned an error: %s", a, policy.Shorten(strings.TrimSpace(string(answer)), 300))
}
