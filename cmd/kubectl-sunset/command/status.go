package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// statusCommand is the command status.
type statusCommand struct {
	streams    genericiooptions.IOStreams
	namespace  string
	output     outputFlags
	connection connection
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
	s.output.add(c, asNames, asWide)
	s.connection.add(c, &s.namespace, "only the RetentionPolicies in this namespace")
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
	list := &PolicyStatusList{TypeMeta: preview.TypeMeta("PolicyStatusList"), Items: make([]PolicyStatus, len(objects))}
	names := make([]*metav1.PartialObjectMetadata, len(objects))
	for i, object := range objects {
		p, err := newPolicyStatus(object)
		if err != nil {
			return err
		}
		list.Items[i], names[i] = p, nameOf(p.APIVersion, p.Kind, p.Name)
	}
	err = s.output.print(s.streams.Out, list, func(w io.Writer) error { return list.write(w, s.output.is(asWide)) }, names...)
	if err == nil && list.hasCauses() {
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
