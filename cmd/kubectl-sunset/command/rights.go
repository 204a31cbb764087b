package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/inventory"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/rights"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/grant"
)

// granting is the command rights.
type granting struct {
	streams    genericiooptions.IOStreams
	files      fileFlags
	protection protectionFlags
	account    accountFlag
	owners     []string
	missing    bool
	local      bool
	connection connectionFlags
}

func newRights(streams genericiooptions.IOStreams) *cobra.Command {
	g := &granting{streams: streams}
	c := &cobra.Command{
		Use:     "rights [-f FILE|DIRECTORY...]",
		Short:   "Write the roles that policies need",
		Long:    rightsHelp,
		Example: rightsExamples,
		RunE:    func(c *cobra.Command, args []string) error { return g.run(c.Context(), args) },
	}
	flags := c.Flags()
	g.files.add(flags)
	flags.BoolVar(&g.missing, "missing", false, "only what is missing, as the API server says")
	flags.BoolVar(&g.local, "local", false, "ask no cluster: resources are named as their kinds suggest")
	flags.StringSliceVar(&g.owners, "owners", nil, "kinds of owners that rules may let go, as resource.group")
	g.account.add(flags)
	g.protection.add(flags)
	g.connection.add(flags)
	completeContexts(c, &g.connection)
	return c
}

// accountFlag is the ServiceAccount that Sunset runs as.
type accountFlag struct{ cluster.Account }

func (f *accountFlag) add(flags *pflag.FlagSet) {
	f.Account = cluster.Account{Namespace: "sunset-system", Name: "sunset-controller"}
	flags.Var(f, "service-account", "the ServiceAccount of Sunset")
}

// Set implements pflag.Value.
func (f *accountFlag) Set(text string) (err error) {
	f.Account, err = cluster.ParseAccount(text)
	return err
}

// Type implements pflag.Value.
func (f *accountFlag) Type() string { return "NAMESPACE/NAME" }

func (g *granting) run(ctx context.Context, args []string) error {
	if g.local && (g.missing || len(g.files.names) == 0) {
		return errors.New("--local asks no cluster: name files with -f, and leave --missing out")
	}
	policies, invalid, err := g.policies(ctx, args)
	if err != nil {
		return err
	}
	found, err := g.find(ctx, policies)
	if err != nil {
		return err
	}
	for i, right := range found {
		if i > 0 {
			fmt.Fprint(g.streams.Out, grant.Between)
		}
		fmt.Fprint(g.streams.Out, right.YAML())
	}
	if invalid {
		return errFindings
	}
	return nil
}

// policies are those of the files, or without files of the cluster.
func (g *granting) policies(ctx context.Context, args []string) (all []*policy.Policy, invalid bool, err error) {
	files, err := g.files.open(args, g.streams.In)
	if err != nil {
		return nil, false, err
	}
	defer files.Close()
	loader, err := g.protection.loader(engine.Options{})
	if err != nil {
		return nil, false, err
	}
	if len(g.files.names) == 0 {
		all, err = g.inForce(ctx, loader)
		return all, false, err
	}
	in, err := inventory.Skim(files, loader)
	if err != nil {
		return nil, false, err
	}
	in.Apart(false)
	report.Problems(g.streams.ErrOut, in.Policies)
	return in.Rules(), in.Problems() > 0, nil
}

func (g *granting) inForce(ctx context.Context, loader *inventory.Loader) ([]*policy.Policy, error) {
	c, err := g.connection.connect()
	if err != nil {
		return nil, err
	}
	force, err := readInForce(ctx, c, loader)
	if err != nil {
		return nil, err
	}
	return force.policies, nil
}

func (g *granting) find(ctx context.Context, policies []*policy.Policy) ([]grant.Right, error) {
	if g.local {
		return g.needed(policies, rights.Guessed), nil
	}
	c, err := g.connection.connect()
	if err != nil {
		return nil, err
	}
	needed := g.needed(policies, c.Resource)
	if !g.missing {
		return needed, nil
	}
	var all []grant.Right
	missing, err := rights.Missing(ctx, c, g.account.Account, needed)
	for _, m := range missing {
		all = append(all, m.Right)
	}
	return all, err
}

// needed is what policies need. What nobody can know is said.
func (g *granting) needed(policies []*policy.Policy, resources rights.Resources) []grant.Right {
	finder := rights.Finder{Resources: resources, Unknown: sets.New[schema.GroupVersionKind]()}
	for _, owner := range g.owners {
		finder.Owners = append(finder.Owners, schema.ParseGroupResource(owner))
	}
	var all []grant.Right
	for _, p := range policies {
		all = append(all, finder.Of(p)...)
		if len(g.owners) == 0 && rights.LetsOwnersGo(p) {
			notes{g.streams.ErrOut}.note("%s deletes the owners that objects name: say with --owners of which kinds", p.Name)
		}
	}
	noteUnknown(finder.Unknown, notes{g.streams.ErrOut})
	return all
}

func noteUnknown(kinds sets.Set[schema.GroupVersionKind], say notes) {
	names := make([]string, 0, len(kinds))
	for kind := range kinds {
		names = append(names, kind.GroupVersion().String()+" "+kind.Kind)
	}
	if len(names) > 0 {
		say.note("the cluster has no %s, and nothing is said of rights to it; --local guesses", strings.Join(sets.List(sets.New(names...)), ", "))
	}
}

const rightsHelp = `Write the roles that policies need, for kubectl apply: for each policy and kind a small ClusterRole, which the chart's
sunset-kinds collects. It lets Sunset list, watch and delete; get only where rules let owners go or deletions are counted
exactly, patch only where rules mark objects. Rules that read references need to watch everything that may refer. For a
RetentionPolicy there is a Role with its binding too, for its own ServiceAccount.

Roles are those that enforced policies need; for a dry run list and watch would do. They are named after the policy and the
resource: whoever applies them again, or deletes them with their policy, takes nothing from others.

Without files it is about the cluster's policies. The cluster says which resources serve the kinds, with --missing also what
the accounts may do already; to ask that takes the right to create subjectaccessreviews.

Exit codes: 0 all is well; 1 a policy is invalid, and what its other rules need is written; 2 wrong usage, or a file or
cluster that cannot be read.`

const rightsExamples = `  # Give Sunset what it lacks for a policy
  kubectl sunset rights -f policy.yaml --missing | kubectl apply -f -

  # Everything that the cluster's policies need
  kubectl sunset rights

  # Without a cluster, to be kept beside the policies; rules let Jobs go that own Workloads
  kubectl sunset rights -R -f policies/ --local --owners jobs.batch > rights.yaml`
