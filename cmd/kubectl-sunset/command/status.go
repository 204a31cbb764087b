package command

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// statusCommand is the command status.
type statusCommand struct {
	streams    genericiooptions.IOStreams
	namespace  string
	connection connectionFlags
}

func newStatus(streams genericiooptions.IOStreams) *cobra.Command {
	s := &statusCommand{streams: streams}
	c := &cobra.Command{
		Use:     "status [-n NAMESPACE]",
		Short:   "List policies and the causes that stop their deletions",
		Long:    statusHelp,
		Example: statusExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return s.run(c.Context()) },
	}
	c.Flags().StringVarP(&s.namespace, "namespace", "n", "", "only the RetentionPolicies in this namespace")
	s.connection.add(c)
	return c
}

func (s *statusCommand) run(ctx context.Context) error {
	c, err := s.connection.connect()
	if err != nil {
		return err
	}
	objects, err := c.Policies(ctx, s.namespace)
	if err != nil {
		return err
	}
	policies := make([]policyStatus, 0, len(objects))
	for _, object := range objects {
		u := &unstructured.Unstructured{Object: object}
		mode, _, _ := unstructured.NestedString(object, "spec", "mode")
		status, err := statusOf(object)
		if err != nil {
			return err
		}
		policies = append(policies, policyStatus{
			Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), Generation: u.GetGeneration(), Mode: mode, Status: status,
		})
	}
	found, err := writeStatuses(s.streams.Out, policies)
	if found && err == nil {
		return errFindings
	}
	return err
}

const statusHelp = `List the policies of the cluster with the numbers of their status: how many objects are due, how many would be due if
rules of other policies did not keep them (BLOCKED), and on how many objects an expression fails (ERRORS). Below the
table, the command prints each condition that shows a problem, with its message.

You need permission to list the policies of the whole cluster or, with -n, the RetentionPolicies of one namespace.

Exit codes: 0 no condition shows a problem; 1 at least one does; 2 wrong usage, or a cluster that cannot be read.`

const statusExamples = `  # Which causes stop deletions?
  kubectl sunset status

  # And in one namespace?
  kubectl sunset status -n team-a`
