package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// approveCommand is the command approve.
type approveCommand struct {
	streams    genericiooptions.IOStreams
	namespace  string
	dryRun     choice
	connection connectionFlags
}

func newApprove(streams genericiooptions.IOStreams) *cobra.Command {
	a := &approveCommand{streams: streams, dryRun: dryRunFlag()}
	c := &cobra.Command{
		Use:     "approve POLICY [-n NAMESPACE]",
		Short:   "Approve the backlog of a policy",
		Long:    approveHelp,
		Example: approveExamples,
		RunE:    func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },
	}
	c.Flags().StringVarP(&a.namespace, "namespace", "n", "", "the namespace of a RetentionPolicy; without it POLICY is a ClusterRetentionPolicy")
	c.Flags().Var(&a.dryRun, "dry-run", "client: show what would be approved, without changing the policy")
	a.connection.add(c)
	c.ValidArgsFunction = completePolicies(&a.connection, &a.namespace)
	return c
}

// dryRunFlag has the values of kubectl's flag that apply here.
func dryRunFlag() choice { return choice{value: "none", of: []string{"none", "client"}} }

func (a *approveCommand) run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("name one policy")
	}
	c, err := a.connection.connect()
	if err != nil {
		return err
	}
	return a.approve(ctx, c, args[0])
}

// attempts is the number of attempts to change an object that others change at the same time.
const attempts = 5

func (a *approveCommand) approve(ctx context.Context, c *cluster.Cluster, name string) error {
	shown := ""
	for range attempts {
		p, err := readBacklog(ctx, c, a.namespace, name)
		if err != nil {
			return err
		}
		switch {
		case p.pending == nil && (p.counting || p.isOutdated()):
			return fmt.Errorf("the controller is still counting what %s would delete; run the command again in a few seconds", p)
		case p.pending == nil:
			fmt.Fprintf(a.streams.Out, "%s does not wait for approval\n", p)
			return nil
		case p.version.Annotations[v1alpha1.ApprovedAnnotation] == p.pending.Hash:
			fmt.Fprintf(a.streams.Out, "%s is already approved; the controller has not read the approval yet\n", p)
			return nil
		case p.isOutdated():
			return fmt.Errorf("%s changed after the controller counted its backlog; run the command again in a few seconds", p)
		case shown != "" && shown != p.pending.Hash:
			return fmt.Errorf("the backlog of %s changed; review and approve it again", p)
		case shown == "":
			p.describe(a.streams)
			shown = p.pending.Hash
		}
		if a.dryRun.value == "client" {
			fmt.Fprintf(a.streams.Out, "%s approved (dry run)\n", p)
			return nil
		}
		err = c.Annotate(ctx, p.kind, p.version, v1alpha1.ApprovedAnnotation, &shown)
		if err == nil {
			fmt.Fprintf(a.streams.Out, "%s approved\n", p)
			return nil
		}
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("approve %s: %w", p, err)
		}
	}
	return fmt.Errorf("%s was not approved: it changed during each of several attempts; run the command again", name)
}

// backlog is the backlog of one version of a policy.
type backlog struct {
	kind       cluster.Kind
	version    *cluster.Metadata
	generation int64 // the generation that the status describes
	pending    *v1alpha1.PendingApproval
	counting   bool // the controller has not finished counting
}

func readBacklog(ctx context.Context, c *cluster.Cluster, namespace, name string) (*backlog, error) {
	kind := cluster.PolicyKind(namespace)
	object, err := c.Get(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	version, err := cluster.MetadataOf(object)
	if err != nil {
		return nil, err
	}
	status := statusOf(object)
	enforcing := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionEnforcing)
	counting := enforcing != nil && enforcing.Reason == "Counting"
	return &backlog{kind, version, status.ObservedGeneration, status.PendingApproval, counting}, nil
}

// String names the policy as kubectl does.
func (b *backlog) String() string {
	return strings.ToLower(b.kind.Kind) + "." + b.kind.Group + "/" + b.version.Name
}

// isOutdated reports whether the status describes an earlier spec.
func (b *backlog) isOutdated() bool {
	return b.generation != b.version.Generation
}

func (b *backlog) describe(streams genericiooptions.IOStreams) {
	what := "new or changed rules"
	if len(b.pending.Rules) > 0 {
		what = "rules whose objects could not be counted before: " + strings.Join(b.pending.Rules, ", ")
	}
	if len(b.pending.Namespaces) > 0 {
		what = "a change in these namespaces: the rules now apply there, or no longer keep objects there: " + strings.Join(b.pending.Namespaces, ", ")
	}
	fmt.Fprintf(streams.Out, "due now:       %s that the rules select\nwithin 7 days: at most %d\nbecause of:    %s\napproved as:   %s\n",
		explain.Share(b.pending.Due, b.pending.Selected), b.pending.Week, what, b.pending.Hash)
}

const approveHelp = `Approve the backlog of a policy that waits with condition ApprovalRequired, because it would delete more objects than
spec.approval allows. Review the objects with preview or explain first. The command prints what it approves, and writes
the hash of status.pendingApproval to annotation sunset-k8s.io/approved of the policy. The approval covers only the
present version of the rules, or if the policy waits because of namespaces, only these namespaces. If the policy changes
while the command runs, the command does not approve it.

Exit codes: 0 approved, or the policy does not wait for approval; 2 wrong usage, no such policy, a policy that changed
after the controller counted it, or a request that the API server rejects.`

const approveExamples = `  # What would be approved?
  kubectl sunset approve batch --dry-run=client

  # Approve the backlog of a ClusterRetentionPolicy and of a RetentionPolicy
  kubectl sunset approve batch
  kubectl sunset approve cleanup -n team-a`
