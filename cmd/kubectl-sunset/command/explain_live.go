// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	current.applyStatus()
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

// applyStatus makes policies wait for approval if their status says so, and blocks the rules of policies that lack permissions.
func (f *clusterPolicies) applyStatus() {
	for _, p := range f.policies {
		status := f.status[p.Name]
		forbidden := meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionPermitted)
		for _, r := range p.Rules {
			r.Unpermitted = forbidden
		}
		pending := status.PendingApproval
		if pending == nil || p.Mode != v1alpha1.Enforce {
			continue
		}
		p.Gate = &policy.ApprovalGate{Hash: pending.Hash}
		if len(pending.Namespaces) > 0 {
			p.Gate.Namespaces = policy.ApprovalScope(nil).Wider(sets.New(pending.Namespaces...), time.Time{})
			continue
		}
		if known, counted := status.Preview(p.Hash); counted && len(pending.Rules) > 0 {
			p.Gate.Rules = sets.New(known.Uncounted...)
		}
	}
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
