// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// judgeLive evaluates the cluster's objects. Policies in files replace the cluster's policies of the same name.
func (p *previewCommand) judgeLive(ctx context.Context, in *load.Contents, input preview.Input, loader *load.Loader) (*preview.Result, error) {
	c, err := p.connection.connect()
	if err != nil {
		return nil, err
	}
	fromFiles := in.Rules()
	current, err := readPermittedPolicies(ctx, c, loader, p.namespace)
	if err != nil {
		return nil, err
	}
	current.addTo(in, c, loader)
	switch {
	case len(in.Policies) == 0 && len(current.forbidden) > 0:
		return nil, fmt.Errorf("no policy that you can read: %w; %s", current.forbidden[0], grantHint())
	case len(in.Policies) == 0:
		return nil, errors.New("the cluster has no policy; add one with -f")
	}
	input.Policies = in.Rules()
	images, err := p.readNode(ctx, c, &input)
	if err != nil {
		return nil, err
	}
	if len(fromFiles) > 0 {
		input.Kinds = affected(fromFiles, input.Policies)
		if input.Namespace == "" && !p.all {
			input.Namespace = namespaceOfAll(fromFiles)
		}
		in.KeepAbout(input.Kinds)
	}
	if input.Namespaces, err = current.namespaces(ctx, c, input.Namespace, rulesOf(input.Policies, current.replaced)); err != nil {
		return nil, err
	}
	judge, err := p.judgeOf(ctx, c, input, current)
	if err != nil {
		return nil, err
	}
	live := &clusterReader{cluster: c, input: input, judge: judge, selector: p.selector, progress: p.files.progress}
	result, err := live.judge.Run(ctx, preview.Both(live.feed(ctx), preview.FromImages(images)))
	if err != nil {
		return nil, err
	}
	result.Fail(live.failures...)
	result.Fail(failuresOf(current.unread)...)
	if len(fromFiles) == 0 {
		result.Fail(failuresOf(current.forbidden)...)
	}
	for _, err := range current.forbidden {
		if len(fromFiles) > 0 {
			notes{p.streams.ErrOut}.note("%v; the preview does not include it, and is not compared with the rules in force", err)
		}
	}
	return result, nil
}

// readNode returns the images of the node that --node names, and sets that node in the input.
func (p *previewCommand) readNode(ctx context.Context, c *cluster.Cluster, input *preview.Input) ([]engine.Image, error) {
	say := notes{p.streams.ErrOut}
	switch {
	case p.images.node.isLive() && p.namespace != "":
		return nil, errors.New("images of nodes have no namespace; omit -n or --node")
	case p.images.node.isLive():
		seen, err := p.images.node.readImages(ctx, c, p.at.now, say)
		if err != nil {
			return nil, err
		}
		input.Node = &seen.Node
		for _, note := range preview.New(*input).NoNode() {
			say.note("%s", note)
		}
		return seen.Images, nil
	case slices.ContainsFunc(rulesOf(input.Policies), (*policy.Rule).OnNodes):
		say.note("to preview rules for images, use --node with the name of a node, --images, or Image objects in files")
	}
	return nil, nil
}

// namespacesFor returns the namespaces that rules need: one, or all if only is empty or a rule shares its capacity between
// namespaces. It returns nil if all rules are for images of nodes.
func namespacesFor(ctx context.Context, c *cluster.Cluster, only string, rules []*policy.Rule) (map[string]policy.Namespace, error) {
	if len(rules) > 0 && !slices.ContainsFunc(rules, func(r *policy.Rule) bool { return !r.OnNodes() }) {
		return nil, nil
	}
	byQuota := false
	for _, rule := range rules {
		byQuota = byQuota || rule.Capacity.ByQuota
		if rule.Capacity.Fair {
			only = ""
		}
	}
	known, err := c.Namespaces(ctx, only)
	if err == nil && byQuota {
		err = c.AddQuotas(ctx, known, only)
	}
	return known, err
}

func rulesOf(policies ...[]*policy.Policy) []*policy.Rule {
	var rules []*policy.Rule
	for _, p := range slices.Concat(policies...) {
		rules = append(rules, p.Rules...)
	}
	return rules
}

// rulesAbout returns the rules for some kinds, or all if kinds is nil.
func rulesAbout(kinds sets.Set[schema.GroupKind], policies ...[]*policy.Policy) []*policy.Rule {
	return slices.DeleteFunc(rulesOf(policies...), func(r *policy.Rule) bool { return kinds != nil && !kinds.Has(policy.StoredAs(r.Kind)) })
}

// kindsOf returns the kinds that policies concern.
func kindsOf(policies []*policy.Policy) sets.Set[schema.GroupKind] {
	kinds := sets.New[schema.GroupKind]()
	for _, p := range policies {
		kinds = kinds.Union(load.KindsOf(p))
	}
	return kinds
}

// affected returns the kinds of the objects that policies can affect: those of their rules, of the references that they declare, of the
// rules that they override, and of all rules if they freeze other policies.
func affected(policies, all []*policy.Policy) sets.Set[schema.GroupKind] {
	kinds := kindsOf(policies).Union(overridden(policies, all))
	for _, p := range policies {
		for _, r := range p.References {
			kinds.Insert(schema.ParseGroupKind(string(r.To)), r.From.GroupKind())
		}
		if slices.ContainsFunc(p.Freezes, func(f policy.Freeze) bool { return f.All }) {
			kinds = kinds.Union(kindsOf(all))
		}
	}
	return kinds
}

// overridden returns the kinds of the rules that policies override in their namespaces.
func overridden(policies, all []*policy.Policy) sets.Set[schema.GroupKind] {
	kinds := sets.New[schema.GroupKind]()
	for _, p := range policies {
		for _, o := range p.Overrides {
			for _, rule := range rulesOf(all) {
				if (o.Policy == "" || o.Policy == rule.ID.Policy) && (o.Rule == "" || o.Rule == rule.ID.Rule) {
					kinds.Insert(policy.StoredAs(rule.Kind))
				}
			}
		}
	}
	return kinds
}

// namespaceOfAll returns the namespace of the policies; empty if they differ.
func namespaceOfAll(policies []*policy.Policy) string {
	namespace := policies[0].Namespace
	for _, p := range policies {
		if p.Namespace != namespace {
			return ""
		}
	}
	return namespace
}

// judge is a preview.Judge or preview.Comparison. It names the kinds to read.
type judge interface {
	Targets() []schema.GroupVersionKind
	RulesOf(kind schema.GroupKind) []*policy.Rule
	Ranks(kind schema.GroupKind) (ranks, everywhere bool)
	Run(ctx context.Context, feed preview.Feed) (*preview.Result, error)
}

// clusterReader reads a judge's objects from a cluster.
type clusterReader struct {
	cluster  *cluster.Cluster
	input    preview.Input
	judge    judge
	selector string
	progress *terminal.Progress
	optional bool              // the cluster need not serve all kinds
	failures []preview.Failure // kinds that cannot be listed
}

// feed yields the objects of all kinds that rules target. If it cannot list a kind, it records a failure and continues.
func (l *clusterReader) feed(ctx context.Context) preview.Feed {
	return func(yield func(preview.Batch) error) error {
		objects := 0
		for _, kind := range l.judge.Targets() {
			query := cluster.Query{Kind: kind, Namespace: l.input.Namespace, Selector: l.selector, MetadataOnly: l.metadataOnly(kind)}
			ranks, everywhere := l.judge.Ranks(policy.StoredAs(kind))
			if ranks {
				query.Selector = "" // objects that do not match the selector have a rank too
			}
			if everywhere {
				query.Namespace = ""
			}
			err := l.cluster.Each(ctx, query, func(page cluster.Page) error {
				objects += len(page)
				l.progress.Set(objects)
				return yield(page)
			})
			var unlisted *cluster.ListError
			switch {
			case errors.As(err, &unlisted) && l.optional && meta.IsNoMatchError(unlisted.Err):
			case errors.As(err, &unlisted):
				l.fail(kind, unlisted)
			case err != nil:
				return err
			}
		}
		return nil
	}
}

// metadataOnly reports whether all rules for a kind read only metadata. For Secrets they never read more.
func (l *clusterReader) metadataOnly(kind schema.GroupVersionKind) bool {
	if kind.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		return true
	}
	for _, rule := range l.judge.RulesOf(policy.StoredAs(kind)) {
		if program := l.input.Programs[rule.Key]; program != nil && !program.MetadataOnly() {
			return false
		}
	}
	return true
}

// fail records a failure of every rule for a kind that cannot be listed.
func (l *clusterReader) fail(kind schema.GroupVersionKind, err *cluster.ListError) {
	told := sets.New[policy.RuleID]()
	for _, rule := range l.judge.RulesOf(policy.StoredAs(kind)) {
		if !told.Has(rule.ID) {
			l.failures = append(l.failures, preview.Failure{RuleID: rule.ID, Message: err.Error()})
		}
		told.Insert(rule.ID)
	}
}
