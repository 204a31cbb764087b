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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/net"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
)

// How the Pod of an agent is known, and where it tells of images.
const (
	agentLabel       = "app.kubernetes.io/name=sunset-node-agent"
	agentPort        = "metrics" // its name; agentPortDefault where no port has it
	agentPortDefault = 8080
)

var (
	nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// NodeImages asks the agent on a node for the images there, by way of the API server. The agents are in a namespace; empty means
// any. The error says what to do.
func (c *Cluster) NodeImages(ctx context.Context, node, namespace string) (*debug.Handler, error) {
	a, err := c.agent(ctx, node, namespace)
	if err != nil {
		return nil, err
	}
	answer, err := c.kinds.RESTClient().Get().AbsPath("/api/v1/namespaces", a.Namespace, "pods", a.address(), "proxy", debug.Path).DoRaw(ctx)
	if err != nil {
		return nil, a.proxyError(answer, err)
	}
	seen, err := debug.Read(answer)
	if err == nil && seen.Node.Name != node {
		err = fmt.Errorf("it is of node %q", seen.Node.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of %s is not understood: %w; it may be of another version than this command", a, err)
	}
	return seen, nil
}

// agent is a Pod that runs one.
type agent struct{ *corev1.Pod }

// String says which Pod it is, for an error.
func (a agent) String() string { return "Pod " + a.Namespace + "/" + a.Name }

// agent finds the one that runs on a node.
func (c *Cluster) agent(ctx context.Context, node, namespace string) (agent, error) {
	found, err := c.objects.Resource(pods).Namespace(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: agentLabel, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; it takes the right to list pods %s, where the agents are unless --agent-namespace says otherwise", err, where(namespace))
	}
	if err != nil {
		return agent{}, fmt.Errorf("find the agent on node %s: %w", node, err)
	}
	var running, idle []string
	one := &corev1.Pod{}
	for _, item := range found.Items {
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, pod); err != nil {
			return agent{}, fmt.Errorf("find the agent on node %s: %w", node, err)
		}
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
		return agent{}, fmt.Errorf("more than one agent on node %s, where only one should be: %s", node, strings.Join(running, ", "))
	case len(idle) > 0:
		return agent{}, fmt.Errorf("the agent on node %s does not run: %s", node, strings.Join(idle, ", "))
	default:
		return agent{}, c.noAgent(ctx, node, namespace)
	}
}

// noAgent says why there is none.
func (c *Cluster) noAgent(ctx context.Context, node, namespace string) error {
	if _, err := c.metadata.Resource(nodes).Get(ctx, node, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return fmt.Errorf("the cluster has no node %q", node)
	}
	return fmt.Errorf("no agent on node %s: no Pod there has label %s %s; --agent-namespace says where else to look", node, agentLabel, where(namespace))
}

func where(namespace string) string {
	if namespace == "" {
		return "in any namespace"
	}
	return "in namespace " + namespace
}

// address is how the API server's proxy knows the Pod.
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

// proxyError says why an agent was not heard: what the API server says of it is a Status, and all else its own word.
func (a agent) proxyError(answer []byte, err error) error {
	var coded apierrors.APIStatus
	if !errors.As(err, &coded) {
		return fmt.Errorf("ask the agent, %s: %w", a, err)
	}
	var status metav1.Status
	if json.Unmarshal(answer, &status) != nil || status.Kind != "Status" {
		return a.answerError(int(coded.Status().Code), answer)
	}
	if status.Reason == metav1.StatusReasonForbidden {
		return fmt.Errorf("ask the agent: %s; it takes the right to get pods/proxy in namespace %s", status.Message, a.Namespace)
	}
	return fmt.Errorf("the API server does not reach the agent, %s at port %d: %s; with --metrics-bind-address=0 an agent tells nobody", a, a.port(), status.Message)
}

// answerError is an answer of the Pod that is no list of images.
func (a agent) answerError(code int, answer []byte) error {
	const longest = 300
	text := strings.TrimSpace(string(answer))
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	if code == http.StatusNotFound {
		return fmt.Errorf("%s has no images at port %d: its agent is older than this command, or the port is another's", a, a.port())
	}
	return fmt.Errorf("the agent, %s, says: %s", a, text)
}
