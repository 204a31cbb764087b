// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// unmarkCommand is the command unmark.
type unmarkCommand struct {
	streams       genericiooptions.IOStreams
	all           bool
	namespace     string
	allNamespaces bool
	force         bool
	dryRun        dryRunFlag
	output        outputFlags
	protection    protectionFlags
	connection    connection
	progress      *terminal.Progress
	read          int                             // objects
	names         []*metav1.PartialObjectMetadata // of marked objects, for -o name
}

func newUnmark(streams genericiooptions.IOStreams) *cobra.Command {
	u := &unmarkCommand{streams: streams}
	c := &cobra.Command{
		Use:     "unmark (KIND... | --all) [-n NAMESPACE]",
		Short:   "Remove the marks of Sunset from objects, after you stop or uninstall it",
		Long:    unmarkHelp,
		Example: unmarkExamples,
		RunE:    func(c *cobra.Command, args []string) error { return u.run(c.Context(), args) },
	}
	flags := c.Flags()
	flags.BoolVar(&u.all, "all", false, "objects of every kind that supports list and patch")
	flags.BoolVarP(&u.allNamespaces, "all-namespaces", "A", false, "objects in all namespaces and cluster-scoped objects; the default")
	flags.BoolVar(&u.force, "force", false, "remove marks even if enforced policies would set them again")
	u.dryRun.add(c, "client: count the marked objects, without changing them", "client")
	u.output.add(c, asNames)
	u.protection.add(flags)
	u.connection.add(c, &u.namespace, "only objects in this namespace")
	c.ValidArgsFunction = completeKinds(&u.connection)
	return c
}

func (u *unmarkCommand) run(ctx context.Context, args []string) error {
	if u.all == (len(args) > 0) {
		return errors.New("name one or more kinds, or use --all for every kind")
	}
	if u.allNamespaces {
		u.namespace = ""
	}
	u.connection.warnings = rest.NoWarnings{} // the command lists every kind, including deprecated ones
	c, err := u.connection.connect()
	if err != nil {
		return err
	}
	kinds, failures, err := u.kinds(c, args)
	if err != nil {
		return err
	}
	if err := u.mayStart(ctx, c, kinds); err != nil {
		return err
	}
	u.progress = terminal.StartProgress(u.streams.ErrOut, "objects read")
	defer u.progress.Stop()
	all := &UnmarkReport{TypeMeta: preview.TypeMeta("UnmarkReport"), DryRun: u.dryRun.isClient(), KindsRead: len(kinds), Kinds: []*UnmarkedKind{}, Errors: failures}
	for _, kind := range kinds {
		if err := u.unmark(ctx, c, kind, all); err != nil {
			return err
		}
	}
	u.progress.Stop()
	for _, failure := range all.Errors {
		fmt.Fprintln(u.streams.ErrOut, text.Escape(failure))
	}
	if err := u.output.print(u.streams.Out, all, all.writeText, u.names...); err != nil {
		return err
	}
	if len(all.Errors) > 0 {
		return errFindings
	}
	return nil
}

// kinds returns the kinds to process, and the errors of discovery.
func (u *unmarkCommand) kinds(c *cluster.Cluster, names []string) (kinds []cluster.Kind, failures []string, err error) {
	if u.all {
		kinds, err = c.Changeable()
		if err != nil && kinds == nil {
			return nil, nil, err
		}
		if err != nil {
			failures = append(failures, err.Error())
		}
	}
	for _, name := range names {
		kind, err := c.Kind(name)
		if err != nil {
			return nil, nil, err
		}
		kinds = append(kinds, kind)
	}
	if u.namespace != "" {
		kinds = slices.DeleteFunc(kinds, func(k cluster.Kind) bool { return !k.Namespaced })
	}
	return kinds, failures, nil
}

// mayStart returns an error if enforced policies would set the marks again.
func (u *unmarkCommand) mayStart(ctx context.Context, c *cluster.Cluster, kinds []cluster.Kind) error {
	rules, err := u.markingRules(ctx, c, kinds)
	switch {
	case err != nil && (u.force || u.dryRun.isClient()):
		notes{u.streams.ErrOut}.note("%v; enforced policies may mark objects again", err)
		return nil
	case err != nil:
		return fmt.Errorf("%w; to continue without the policies, use --force", err)
	case len(rules) == 0:
		return nil
	}
	names := strings.Join(rules, ", ")
	if u.force || u.dryRun.isClient() {
		notes{u.streams.ErrOut}.note("these enforced rules mark objects again while the controller runs: %s", names)
		return nil
	}
	return fmt.Errorf("these enforced rules mark objects again while the controller runs: %s\nSet their policies to mode DryRun or delete them, or stop the controller and use --force", names)
}

// markingRules returns the enforced rules that mark objects of some kinds.
func (u *unmarkCommand) markingRules(ctx context.Context, c *cluster.Cluster, kinds []cluster.Kind) ([]string, error) {
	objects, err := c.Policies(ctx, "")
	if err != nil {
		return nil, err
	}
	loader, err := u.protection.loader(engine.Options{})
	if err != nil {
		return nil, err
	}
	var rules []string
	for _, object := range objects {
		for _, r := range loader.Load(object).Rules {
			isAmong := slices.ContainsFunc(kinds, func(k cluster.Kind) bool { return policy.StoredAs(k.GroupVersionKind) == policy.StoredAs(r.Kind) })
			if r.Mark != "" && r.Mode == v1alpha1.Enforce && isAmong {
				rules = append(rules, r.ID.String())
			}
		}
	}
	return rules, nil
}
