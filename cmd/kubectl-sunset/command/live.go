package command

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/inventory"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// connectionFlags are those by which kubectl finds its cluster.
type connectionFlags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

func (f *connectionFlags) add(flags *pflag.FlagSet) {
	f.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&f.rules.ExplicitPath, "kubeconfig", "", "kubeconfig file to use instead of the default")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{} // -n means something else here: only that namespace
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
}

func (f *connectionFlags) config() (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubectl-sunset"
	return config, nil
}

// judgeLive judges the cluster's objects, by the policies of the files and those of the cluster that they do not replace.
func (p *previewing) judgeLive(ctx context.Context, in *inventory.Inventory, input preview.Input, loader *inventory.Loader) (*preview.Result, error) {
	config, err := p.connection.config()
	if err != nil {
		return nil, err
	}
	c, err := cluster.Connect(config)
	if err != nil {
		return nil, err
	}
	input.Kinds = kindsOf(in)
	if err := addLive(ctx, c, in, loader); err != nil {
		return nil, err
	}
	if len(in.Policies) == 0 {
		return nil, errors.New("no policy in the cluster; name one with -f")
	}
	input.Policies = in.Rules()
	if input.Namespaces, err = c.Namespaces(ctx, input.Namespace); err != nil {
		return nil, err
	}
	live := &live{cluster: c, judge: preview.New(input), selector: p.selector}
	result, err := live.judge.Run(ctx, live.feed(ctx))
	if err != nil {
		return nil, err
	}
	result.Fail(live.failures...)
	return result, nil
}

// kindsOf are the kinds that the files' policies are about: those are what is asked about. Without any it is everything.
func kindsOf(in *inventory.Inventory) sets.Set[schema.GroupKind] {
	if len(in.Policies) == 0 {
		return nil
	}
	kinds := sets.New[schema.GroupKind]()
	for _, p := range in.Policies {
		for _, rule := range p.Rules {
			kinds.Insert(policy.StoredAs(rule.Kind))
		}
	}
	return kinds
}

// addLive adds the cluster's policies to those of the files, which replace those of the same name.
func addLive(ctx context.Context, c *cluster.Cluster, in *inventory.Inventory, loader *inventory.Loader) error {
	objects, err := c.Policies(ctx)
	if err != nil {
		return err
	}
	fromFiles := len(in.Policies)
	for _, object := range objects {
		p := loader.Load(object)
		replaced := slices.ContainsFunc(in.Policies[:fromFiles], func(o inventory.Policy) bool { return o.Name == p.Name })
		if !replaced {
			in.Policies = append(in.Policies, inventory.Policy{Policy: p})
		}
	}
	return nil
}

// live reads the objects of a cluster for a judge.
type live struct {
	cluster  *cluster.Cluster
	judge    *preview.Judge
	selector string
	failures []preview.Failure // kinds that cannot be listed
}

// feed gives the objects of all kinds that rules target. A kind that cannot be listed does not keep the others back.
func (l *live) feed(ctx context.Context) preview.Feed {
	return func(yield func(preview.Batch) error) error {
		for _, kind := range l.judge.Targets() {
			query := cluster.Query{Kind: kind, Namespace: l.judge.Namespace, Selector: l.selector, MetadataOnly: l.metadataOnly(kind)}
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
func (l *live) metadataOnly(kind schema.GroupVersionKind) bool {
	if kind.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		return true
	}
	for _, rule := range l.judge.RulesOf(policy.StoredAs(kind)) {
		if program := l.judge.Programs[rule.Key]; program != nil && !program.MetadataOnly() {
			return false
		}
	}
	return true
}

// fail tells every rule about a kind that the kind cannot be listed.
func (l *live) fail(kind schema.GroupVersionKind, err *cluster.ListError) {
	for _, rule := range l.judge.RulesOf(policy.StoredAs(kind)) {
		l.failures = append(l.failures, preview.Failure{Rule: rule.ID, Message: err.Error()})
	}
}
