// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// rbacCommand is the command rbac.
type rbacCommand struct {
	compiler   *engine.Compiler // of the policies that were read
	streams    genericiooptions.IOStreams
	namespace  string
	output     outputFlags
	files      fileFlags
	protection protectionFlags
	account    accountFlag
	owners     []string
	missing    bool
	local      bool
	connection connection
}

func newRBAC(streams genericiooptions.IOStreams) *cobra.Command {
	g := &rbacCommand{streams: streams}
	c := &cobra.Command{
		Use:     "rbac [POLICY [-n NAMESPACE] | -f FILE|DIRECTORY...]",
		Short:   "Print the roles that policies need",
		Long:    rbacHelp,
		Example: rbacExamples,
		RunE:    func(c *cobra.Command, args []string) error { return g.run(c.Context(), args) },
	}
	flags := c.Flags()
	g.files.add(flags)
	flags.BoolVar(&g.missing, "missing", false, "only roles with permissions that Sunset does not have yet, according to the API server")
	flags.BoolVar(&g.local, "local", false, "do not connect to a cluster; derive the names of resources from their kinds")
	flags.StringSliceVar(&g.owners, "owners", nil, "kinds of owners that rules may delete, as resource.group")
	g.account.add(flags)
	g.output.add(c, asNames)
	g.protection.add(flags)
	g.connection.add(c, &g.namespace, "the namespace of a RetentionPolicy; without it POLICY is a ClusterRetentionPolicy")
	c.ValidArgsFunction = completePolicies(&g.connection)
	return c
}

// accountFlag is the ServiceAccount of the controller.
type accountFlag struct{ types.NamespacedName }

func (f *accountFlag) add(flags *pflag.FlagSet) {
	f.NamespacedName = types.NamespacedName{Namespace: "sunset-system", Name: "sunset-controller"}
	flags.Var(f, "service-account", "ServiceAccount of the Sunset controller")
}

// Set implements pflag.Value.
func (f *accountFlag) Set(text string) error {
	namespace, name, found := strings.Cut(text, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q is not NAMESPACE/NAME", text)
	}
	f.NamespacedName = types.NamespacedName{Namespace: namespace, Name: name}
	return nil
}

// Type implements pflag.Value.
func (f *accountFlag) Type() string { return "NAMESPACE/NAME" }

func (g *rbacCommand) run(ctx context.Context, args []string) error {
	switch {
	case g.local && (g.missing || !g.files.areGiven()):
		return errors.New("--local does not connect to a cluster: name files with -f, and omit --missing")
	case !g.files.areGiven() && len(args) > 1:
		return errors.New("name one policy, or none for all policies of the cluster")
	case g.namespace != "" && len(args) == 0:
		return errors.New("--namespace is the namespace of a policy: name the policy too")
	}
	policies, invalid, err := g.policies(ctx, args)
	if err != nil {
		return err
	}
	found, err := g.find(ctx, policies)
	if err != nil {
		return err
	}
	if err := g.print(found); err != nil {
		return err
	}
	if invalid {
		return errFindings
	}
	if g.missing && len(found) == 0 {
		notes{g.streams.ErrOut}.note("no permission is missing")
	}
	return nil
}

// print prints the roles as YAML with comments, or in the format of -o as a List.
func (g *rbacCommand) print(found []rbac.Permission) error {
	var documents []string
	for _, right := range found {
		documents = append(documents, right.YAML())
	}
	text := strings.Join(documents, rbac.Between)
	if g.output.printer == nil {
		_, err := io.WriteString(g.streams.Out, text)
		return err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	decoder := yaml.NewYAMLToJSONDecoder(strings.NewReader(text))
	for {
		var role unstructured.Unstructured
		if err := decoder.Decode(&role.Object); errors.Is(err, io.EOF) {
			return g.output.printer.PrintObj(list, g.streams.Out)
		} else if err != nil {
			return err
		}
		list.Items = append(list.Items, role)
	}
}

// policies returns the policies of the files, or without files one policy of the cluster or all.
func (g *rbacCommand) policies(ctx context.Context, args []string) (all []*policy.Policy, invalid bool, err error) {
	g.files.progress = terminal.StartProgress(g.streams.ErrOut, "objects read")
	defer g.files.progress.Stop()
	named := args
	if !g.files.areGiven() {
		args = nil
	}
	files, loader, in, err := g.files.load(args, g.streams.In, &g.protection, load.Skim)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = files.Close() }()
	g.compiler = loader.Compiler
	if !g.files.areGiven() {
		all, err = g.inForce(ctx, loader, named)
		return all, false, err
	}
	in.CheckNames(false)
	g.files.progress.Stop()
	load.WriteProblems(g.streams.ErrOut, in.Documents())
	return in.Rules(), in.Problems() > 0, nil
}

// inForce returns the named policy of the cluster, or all.
func (g *rbacCommand) inForce(ctx context.Context, loader *load.Loader, named []string) ([]*policy.Policy, error) {
	c, err := g.connection.connect()
	if err != nil {
		return nil, err
	}
	c.Listed = g.files.progress.Add
	if len(named) > 0 {
		object, err := c.Get(ctx, cluster.PolicyKind(g.namespace), g.namespace, named[0])
		if err != nil {
			return nil, err
		}
		return []*policy.Policy{loader.Load(object)}, nil
	}
	objects, err := c.Policies(ctx, "")
	var all []*policy.Policy
	for _, object := range objects {
		all = append(all, loader.Load(object))
	}
	return all, err
}

func (g *rbacCommand) find(ctx context.Context, policies []*policy.Policy) ([]rbac.Permission, error) {
	if g.local {
		return g.needed(policies, guessedResource)
	}
	c, err := g.connection.connect()
	if err != nil {
		return nil, err
	}
	needed, err := g.needed(policies, c.Resource)
	if err != nil || !g.missing {
		return needed, err
	}
	progress := terminal.StartProgress(g.streams.ErrOut, "permissions checked")
	defer progress.Stop()
	var all []rbac.Permission
	for i := range needed {
		missing, err := missingPermissions(ctx, c, g.account.NamespacedName, needed[i:i+1])
		if err != nil {
			return nil, err
		}
		for _, m := range missing {
			all = append(all, m.Permission)
		}
		progress.Set(i + 1)
	}
	return all, nil
}

func (g *rbacCommand) needed(policies []*policy.Policy, resources resourceOf) ([]rbac.Permission, error) {
	finder := roleFinder{compiler: g.compiler, resources: resources}
	for _, owner := range g.owners {
		finder.owners = append(finder.owners, schema.ParseGroupResource(owner))
	}
	return finder.ofAll(policies, notes{g.streams.ErrOut}, ": name the kinds of owners with --owners")
}

const rbacHelp = `Print the roles that policies need, for kubectl apply. For each policy and kind this is a ClusterRole with the verbs
list, watch and delete. It also has get, if rules delete owners or make snapshots, or the policy counts deletions
exactly, and patch, if rules mark objects. For VolumeSnapshots that rules make, it has get and create. ClusterRole
sunset-kinds of the chart aggregates these roles. If rules read references, targets or selected, another ClusterRole
has list and watch for the kinds that this needs. For a RetentionPolicy the command also prints a Role and a
RoleBinding for its ServiceAccount.

The roles are those that enforced policies need; a dry run needs only list and watch. Each role has the name of its policy
and resource: if you apply it again or delete it with its policy, other policies keep their permissions.

With -o, the output is a List of the roles, without comments.

Without files, the command reads one policy of the cluster, or all. It asks the cluster for the resources of the kinds. With
--missing, it also asks for the permissions of the ServiceAccounts; for this you need permission to create
subjectaccessreviews. If no permission is missing, it prints a note to standard error and no roles; kubectl apply ends with
an error if it receives none.

Exit codes: 0 success; 1 a policy is invalid, and the command printed the roles for its valid rules; 2 wrong usage, or a
file or cluster that cannot be read.`

const rbacExamples = `  # Grant the permissions that are missing for a policy of the cluster, and for a file
  kubectl sunset rbac batch --missing | kubectl apply -f -
  kubectl sunset rbac -f policy.yaml --missing | kubectl apply -f -

  # In a script: apply the roles, if any permission is missing
  kubectl sunset rbac --missing > roles.yaml
  if test -s roles.yaml; then kubectl apply -f roles.yaml; fi

  # Print the roles for all policies of the cluster
  kubectl sunset rbac

  # Without a cluster, for rules that delete the Jobs that own Workloads
  kubectl sunset rbac -R -f policies/ --local --owners jobs.batch > roles.yaml`
