package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// connectionFlags are those by which kubectl finds its cluster.
type connectionFlags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// add adds the flags, and completes what a cluster has names for. The command has its other flags already.
func (f *connectionFlags) add(c *cobra.Command) {
	flags := c.Flags()
	f.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&f.rules.ExplicitPath, "kubeconfig", "", "kubeconfig file to use instead of the default")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{} // -n means something else here: only that namespace
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
	completeContexts(c, f)
	completeNames(c, f, "namespace", cobra.ShellCompDirectiveNoFileComp, (*cluster.Cluster).NamespaceNames)
	completeNames(c, f, "node", cobra.ShellCompDirectiveDefault, (*cluster.Cluster).NodeNames) // which may be a file as well
}

func (f *connectionFlags) client() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides)
}

// namespace is the one given, or else the one that kubectl would work in.
func (f *connectionFlags) namespace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	namespace, _, err := f.client().Namespace()
	return namespace, err
}

func (f *connectionFlags) config() (*rest.Config, error) {
	config, err := f.client().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("no kubeconfig names a cluster: looked in %s; use --kubeconfig, or set KUBECONFIG", strings.Join(f.rules.GetLoadingPrecedence(), ", "))
	}
	if err != nil {
		return nil, err
	}
	config.UserAgent = version.Get().UserAgent(program)
	return config, nil
}

func (f *connectionFlags) connect() (*cluster.Cluster, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	return cluster.Connect(config)
}

// judgeLive judges the cluster's objects, by the policies of the files and those of the cluster that they do not replace.
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
	current.addTo(in, loader)
	switch {
	case len(in.Policies) == 0 && len(current.forbidden) > 0:
		return nil, fmt.Errorf("no policy that you may read: %w; %s", current.forbidden[0], grantHint())
	case len(in.Policies) == 0:
		return nil, errors.New("the cluster has no policy; add one with -f")
	}
	input.Policies = in.Rules()
	images, err := p.readNode(ctx, c, &input)
	if err != nil {
		return nil, err
	}
	if len(fromFiles) > 0 {
		input.Kinds = kindsOf(fromFiles).Union(overridden(fromFiles, input.Policies)) // asked about; without files it is everything
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
	live := &clusterReader{cluster: c, input: input, judge: judge, selector: p.selector}
	result, err := live.judge.Run(ctx, preview.Both(live.feed(ctx), preview.FromImages(images)))
	if err != nil {
		return nil, err
	}
	result.Fail(live.failures...)
	if len(fromFiles) == 0 {
		result.Fail(current.failures()...)
	}
	for _, err := range current.forbidden {
		if len(fromFiles) > 0 {
			notes{p.streams.ErrOut}.note("%v; the preview does not include it, and is not compared with the rules in force", err)
		}
	}
	return result, nil
}

// readNode gives the images of the node that --node names, which rules are asked about from then on.
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
		say.note("to preview rules about images, use --node with the name of a node, --images, or Image objects in files")
	}
	return nil, nil
}

// namespacesFor are the namespaces that matter to rules about objects of one of them, or of any: all where one takes from
// another, and none where all are about images of nodes.
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

// rulesAbout are the rules about some kinds; nil is all.
func rulesAbout(kinds sets.Set[schema.GroupKind], policies ...[]*policy.Policy) []*policy.Rule {
	return slices.DeleteFunc(rulesOf(policies...), func(r *policy.Rule) bool { return kinds != nil && !kinds.Has(policy.StoredAs(r.Kind)) })
}

// kindsOf are the kinds that policies are about.
func kindsOf(policies []*policy.Policy) sets.Set[schema.GroupKind] {
	kinds := sets.New[schema.GroupKind]()
	for _, p := range policies {
		kinds = kinds.Union(load.KindsOf(p))
	}
	return kinds
}

// overridden are the kinds of rules that policies change in their namespaces.
func overridden(policies, all []*policy.Policy) sets.Set[schema.GroupKind] {
	kinds := sets.New[schema.GroupKind]()
	for _, p := range policies {
		for _, o := range p.Overrides {
			for _, rule := range rulesOf(all) {
				if o.Policy == rule.ID.Policy && (o.Rule == "" || o.Rule == rule.ID.Rule) {
					kinds.Insert(policy.StoredAs(rule.Kind))
				}
			}
		}
	}
	return kinds
}

// namespaceOfAll is the namespace that policies are about; empty where they are not all about one.
func namespaceOfAll(policies []*policy.Policy) string {
	namespace := policies[0].Namespace
	for _, p := range policies {
		if p.Namespace != namespace {
			return ""
		}
	}
	return namespace
}

// judge is one that knows what it has to read.
type judge interface {
	Targets() []schema.GroupVersionKind
	RulesOf(kind schema.GroupKind) []*policy.Rule
	Ranks(kind schema.GroupKind) (ranks, everywhere bool)
	Run(ctx context.Context, feed preview.Feed) (*preview.Result, error)
}

// clusterReader reads the objects of a cluster for a judge.
type clusterReader struct {
	cluster  *cluster.Cluster
	input    preview.Input
	judge    judge
	selector string
	failures []preview.Failure // kinds that cannot be listed
}

// feed gives the objects of all kinds that rules target. A kind that cannot be listed does not keep the others back.
func (l *clusterReader) feed(ctx context.Context) preview.Feed {
	return func(yield func(preview.Batch) error) error {
		for _, kind := range l.judge.Targets() {
			query := cluster.Query{Kind: kind, Namespace: l.input.Namespace, Selector: l.selector, MetadataOnly: l.metadataOnly(kind)}
			ranks, everywhere := l.judge.Ranks(policy.StoredAs(kind))
			if ranks {
				query.Selector = "" // those that are not asked about take their places too
			}
			if everywhere {
				query.Namespace = ""
			}
			err := l.cluster.Each(ctx, query, func(page cluster.Page) error { return yield(page) })
			var unlisted *cluster.ListError
			if errors.As(err, &unlisted) {
				l.fail(kind, unlisted)
			} else if err != nil {
				return err
			}
		}
		return nil
	}
}

// metadataOnly reports whether the rules about a kind read nothing but metadata. Of Secrets they never read more.
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

// fail tells every rule about a kind that the kind cannot be listed.
func (l *clusterReader) fail(kind schema.GroupVersionKind, err *cluster.ListError) {
	told := sets.New[policy.RuleID]()
	for _, rule := range l.judge.RulesOf(policy.StoredAs(kind)) {
		if !told.Has(rule.ID) {
			l.failures = append(l.failures, preview.Failure{RuleID: rule.ID, Message: err.Error()})
		}
		told.Insert(rule.ID)
	}
}
