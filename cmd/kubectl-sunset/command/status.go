// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/status"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// statusCommand is the command status.
type statusCommand struct {
	streams    genericiooptions.IOStreams
	now        time.Time
	namespace  string
	watch, web bool
	output     outputFlags
	protection protectionFlags // of the preview
	connection connection
}

func newStatus(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	s := &statusCommand{streams: streams, now: now}
	c := &cobra.Command{
		Use:     "status [-n NAMESPACE] [--watch|--web]",
		Short:   "List policies, what they delete next, and the causes that stop deletions",
		Long:    statusHelp,
		Example: statusExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return s.run(c.Context()) },
	}
	c.Flags().BoolVarP(&s.watch, "watch", "w", false, "after the table, print the row of each policy that changes")
	c.Flags().BoolVar(&s.web, "web", false, "serve the status and a preview as pages for a browser on this machine")
	s.output.add(c, asNames, asWide)
	s.protection.add(c.Flags())
	c.MarkFlagsMutuallyExclusive("web", "watch")
	c.MarkFlagsMutuallyExclusive("web", "output")
	s.connection.add(c, &s.namespace, "only the RetentionPolicies in this namespace")
	return c
}

func (s *statusCommand) run(ctx context.Context) error {
	if s.web {
		return s.serve(ctx)
	}
	c, err := s.connection.connect()
	if err != nil {
		return err
	}
	list, err := s.list(ctx, c)
	if err != nil {
		return err
	}
	if s.watch {
		return s.printChanges(ctx, c, list)
	}
	names := make([]*metav1.PartialObjectMetadata, len(list.Items))
	for i, p := range list.Items {
		names[i] = nameOf(p.APIVersion, p.Kind, p.Name)
	}
	err = s.output.print(s.streams.Out, list, func(w io.Writer) error { return list.WriteText(w, s.output.is(asWide), s.now) }, names...)
	if err == nil && list.HasCauses() {
		return errFindings
	}
	return err
}

// list lists the policies, and shows their number.
func (s *statusCommand) list(ctx context.Context, c *cluster.Cluster) (*status.List, error) {
	progress := terminal.StartProgress(s.streams.ErrOut, "policies read")
	defer progress.Stop()
	c.Listed = progress.Add
	objects, err := c.Policies(ctx, s.namespace)
	if err != nil {
		return nil, err
	}
	return status.NewList(objects)
}

// printChanges prints all policies, and each policy again when its row changes. Other formats than text have one document for
// each policy.
func (s *statusCommand) printChanges(ctx context.Context, c *cluster.Cluster, list *status.List) error {
	started := time.Now()
	table := status.NewTable(text.StyleOf(s.streams.Out), s.output.is(asWide))
	printed := map[types.NamespacedName][]string{} // rows as of s.now; only RetentionPolicies have a namespace
	changes := func(p *status.Policy) bool {
		name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		last := printed[name]
		printed[name] = table.Row(p, s.now)
		return !slices.Equal(last, printed[name])
	}
	if s.output.printer == nil {
		if err := table.Write(s.streams.Out, len(list.Items), func(i int) []string {
			changes(&list.Items[i])
			return table.Row(&list.Items[i], s.now)
		}); err != nil {
			return err
		}
	}
	var one sync.Mutex
	return c.WatchPolicies(ctx, s.namespace, func(object map[string]any, deleted bool) error {
		one.Lock()
		defer one.Unlock()
		p, err := status.New(object)
		if err != nil {
			return err
		}
		if deleted {
			p.SetDeleted()
		}
		if !changes(p) {
			return nil
		}
		return s.output.print(s.streams.Out, p, func(w io.Writer) error {
			return table.Append(w, table.Row(p, s.now.Add(time.Since(started))))
		}, nameOf(p.APIVersion, p.Kind, p.Name))
	})
}

const statusHelp = `List the policies of the cluster with the numbers of their status: how many objects are due, how many would be due if
rules of other policies did not keep them (BLOCKED), on how many objects an expression fails (ERRORS), and when the next
object is due (NEXT). A number is "-", and absent in other formats, if Sunset does not know it: the policy has no status yet,
Sunset has not listed a kind, or the ServiceAccount of a RetentionPolicy has no permission. Below the table, the command
prints the objects that are deleted next, and each condition that shows a problem, with its message. With -o wide, SIZE is
the storage of the objects in DUE whose size is known.

With --watch, the command prints only the table and then, until you stop it, the row of each policy that changes. With -o,
it prints a document for each policy.

With --web, the command serves pages for a browser on this machine until you stop it: the status, and a preview of what
the policies of the cluster delete, like "preview -o html". --allow-kinds and --protected-namespaces are for this preview.
The command listens on 127.0.0.1 at a random port, and the address that it prints contains a random token. Everyone on this
machine who has the address can read the pages. Each time that you load a page, the command reads the cluster with your
permissions. It changes nothing.

You need permission to list the policies of the whole cluster or, with -n, the RetentionPolicies of one namespace. For
--watch, you also need permission to watch them.

Exit codes: 0 no condition shows a problem; 1 at least one does; 2 wrong usage, or a cluster that cannot be read.`

const statusExamples = `  # What is deleted next, and what stops deletions?
  kubectl sunset status

  # And in one namespace?
  kubectl sunset status -n team-a

  # Follow the numbers
  kubectl sunset status --watch

  # Look at the objects that are deleted next, in a browser
  kubectl sunset status --web`
