// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// explainLive explains an object of the cluster. Policies in files replace the cluster's policies of the same name.
func (e *explainCommand) explainLive(ctx context.Context, in *load.Contents, what objectName) (*explain.Page, error) {
	c, err := e.connection.connect()
	if err != nil {
		return nil, err
	}
	kind, err := c.Kind(what.kind)
	if err != nil && isNamed(what.kind, v1alpha1.ImageKind) {
		err = fmt.Errorf("%w; to explain an image on a node, use --node", err)
	}
	if err != nil {
		return nil, err
	}
	namespace := ""
	if kind.Namespaced {
		if namespace, _, err = e.connection.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, err
		}
	}
	current, err := readPermittedPolicies(ctx, c, e.loader, namespace)
	if err != nil {
		return nil, err
	}
	current.applyPending()
	current.addTo(in, c, e.loader)
	input := e.input(in.Rules(), namespace)
	input.Kinds = sets.New(policy.StoredAs(kind.GroupVersionKind))
	about := rulesAbout(input.Kinds, input.Policies)
	if namespace != "" {
		if input.Namespaces, err = current.namespaces(ctx, c, namespace, about); err != nil {
			return nil, err
		}
	}
	if input.Referred, err = findReferredIn(ctx, c, &input, about, notes{e.streams.ErrOut}); err != nil {
		return nil, err
	}
	object, judged, err := readCase(ctx, c, kind, input, what.name)
	if err != nil {
		return nil, err
	}
	get := func(o policy.Owner) (map[string]any, error) { return c.Owner(ctx, o, namespace) }
	return explain.OfCase(ctx, object, judged, input, explain.Input{
		Status: current.statusOf(in), Unread: current.unreadForExplain(), FindOwner: get,
		FindVolume: func(name string) (map[string]any, error) {
			return get(policy.Owner{Kind: corev1.SchemeGroupVersion.WithKind("PersistentVolume"), Name: name})
		},
	}), nil
}

// readCase decides about an object. If rules rank it, readCase needs the other objects of its kind, and fails if it cannot list
// them.
func readCase(ctx context.Context, c *cluster.Cluster, kind cluster.Kind, input preview.Input, name string) (map[string]any, *preview.Case, error) {
	judge := preview.New(input)
	if target, ok := judge.Target(policy.StoredAs(kind.GroupVersionKind)); ok {
		kind = c.At(kind, target)
	}
	object, err := c.Get(ctx, kind, input.Namespace, name)
	if err != nil {
		return nil, nil, err
	}
	peers := &clusterReader{cluster: c, input: input, judge: judge}
	judged, err := judge.Case(ctx, object, peers.feed(ctx))
	if err == nil && len(peers.failures) > 0 {
		f := peers.failures[0]
		err = fmt.Errorf("%s; rule %s needs these objects to rank the object", f.Message, f.RuleID)
	}
	return object, judged, err
}

// applyPending makes policies wait for approval where their status says so.
func (f *clusterPolicies) applyPending() {
	for _, p := range f.policies {
		if p.Mode == v1alpha1.Enforce {
			p.Gate = gateOf(p, f.status[p.Name])
		}
	}
}

// gateOf returns the gate of a policy by its status; nil if nothing waits for approval.
func gateOf(p *policy.Policy, status v1alpha1.RetentionPolicyStatus) *policy.ApprovalGate {
	var waiting []string
	if status.Enforced != nil {
		waiting = status.Enforced.WaitingNamespaces
	}
	gate := &policy.ApprovalGate{}
	if pending := status.PendingApproval; pending != nil {
		gate.Hash = pending.Hash
		if len(pending.Namespaces) == 0 {
			if known, counted := status.Preview(p.Hash); counted && len(pending.Rules) > 0 {
				gate.Rules = sets.New(known.Uncounted...)
			}
			return gate
		}
		waiting = slices.Concat(waiting, pending.Namespaces)
	}
	if len(waiting) == 0 {
		return nil
	}
	gate.Namespaces = policy.ApprovalScope(nil).Wider(sets.New(waiting...), time.Time{})
	return gate
}

// statusOf returns the status of the policies that files do not replace.
func (f *clusterPolicies) statusOf(in *load.Contents) map[string]v1alpha1.RetentionPolicyStatus {
	status := map[string]v1alpha1.RetentionPolicyStatus{}
	for _, p := range in.Policies {
		if known, ok := f.status[p.Name]; ok && p.File == "" {
			status[p.Name] = known
		}
	}
	return status
}
