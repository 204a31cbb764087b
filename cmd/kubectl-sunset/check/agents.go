// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// agents checks that each Linux node has an agent that reports and is ready.
func (i *installation) agents(ctx context.Context) Check {
	const name = "node-agents"
	reports, err := i.NodeReports(ctx)
	if err != nil {
		return unreadable(name, err)
	}
	nodes, err := i.ObjectNames(ctx, cluster.NodeKind, "", "kubernetes.io/os=linux")
	if err != nil {
		return unreadable(name, err)
	}
	return covered(nodes, reports, i.at)
}

func covered(nodes []string, reports []v1alpha1.NodeImageReport, at time.Time) Check {
	const name = "node-agents"
	of := map[string]v1alpha1.NodeImageReport{}
	for _, report := range reports {
		of[report.Name] = report
	}
	var wrong []string
	for _, node := range nodes {
		report, reports := of[node]
		reason := whyNotReady(report.Conditions)
		switch age := at.Sub(report.ObservedTime.Time); {
		case !reports:
			wrong = append(wrong, node+" does not report")
		case age > agentapi.StaleAfter:
			wrong = append(wrong, fmt.Sprintf("%s reported %s ago", node, duration.HumanDuration(age)))
		case reason != "":
			wrong = append(wrong, fmt.Sprintf("%s is not ready (%s)", node, reason))
		}
	}
	if len(wrong) > 0 {
		return Check{name, Warn, fmt.Sprintf("agents work on %d of %d Linux nodes: %s", len(nodes)-len(wrong), len(nodes), first(wrong)),
			"check DaemonSet sunset-node-agent, and kubectl get nodeimagereports"}
	}
	return Check{Name: name, Result: Pass, Message: fmt.Sprintf("agents work on %d of %d Linux nodes", len(nodes), len(nodes))}
}
