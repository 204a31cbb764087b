// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/who"
)

// whoCommand is the command who.
type whoCommand struct {
	archiveSource
	files     []string
	output    outputFlags
	progress  *terminal.Progress
	isPartial bool // an archive was not read completely
}

func newWho(streams genericiooptions.IOStreams) *cobra.Command {
	w := &whoCommand{archiveSource: archiveSource{streams: streams}}
	c := &cobra.Command{
		Use:     "who KIND/NAME [-n NAMESPACE] [-f FILE...] [--archive NAME | --url URL]",
		Short:   "Find who deleted an object, and by which rule",
		Long:    whoHelp,
		Example: whoExamples,
		RunE:    func(c *cobra.Command, args []string) error { return w.run(c.Context(), args) },
	}
	c.Flags().StringArrayVarP(&w.files, "filename", "f", nil, `file with a log of Sunset, CloudEvents of it, or an audit log of the API server; "-" for standard input; can be repeated`)
	w.output.add(c)
	w.addFlags(c, &w.namespace, "namespace of the object; the default is the namespace of the kubeconfig, or any namespace with -f or --url")
	c.Flag("archive").Usage = "name of the RetentionArchive to search; the default is all of the cluster, or none with -f"
	c.ValidArgsFunction = completeObject(&w.connection)
	return c
}

// longName returns the name of a kind of Kubernetes for its short name, because logs have no short names. It returns other names unchanged.
func longName(name string) string {
	found, _, ok := load.FindBuiltin(func(kind schema.GroupVersionKind) bool {
		return slices.Contains(load.ShortNames(kind), strings.ToLower(name))
	})
	if !ok {
		return name
	}
	return strings.ToLower(found.String())
}

func (w *whoCommand) run(ctx context.Context, args []string) error {
	named, err := parseObjectName(args)
	switch {
	case err != nil:
		return err
	case named.name == "":
		return errors.New("name one object as KIND/NAME, such as job/report")
	}
	report := &who.Report{TypeMeta: preview.TypeMeta("DeletionReport"), Deletions: []who.Deletion{}}
	report.Object = who.Name{Kind: longName(named.kind), Namespace: w.namespace, Name: named.name}
	if err := w.search(ctx, report); err != nil {
		return err
	}
	report.Sort()
	if err := w.output.print(w.streams.Out, report, report.WriteText); err != nil {
		return err
	}
	if n := report.WithoutOptions(); n > 0 {
		notes{w.streams.ErrOut}.note("the audit log has no options of %s, because its level is Metadata; a dry run looks like a deletion there", preview.Count(n, "request"))
	}
	if len(report.Deletions) == 0 {
		fmt.Fprint(w.streams.ErrOut, w.hint())
		return errFindings
	}
	if w.isPartial {
		return errFindings
	}
	return nil
}

// search searches all sources, and shows how much it has read: lines of files, objects of the cluster, and objects of archives.
func (w *whoCommand) search(ctx context.Context, report *who.Report) (err error) {
	w.progress = terminal.StartProgress(w.streams.ErrOut, "lines and objects read")
	screen, later := w.streams.ErrOut, &bytes.Buffer{} // a note would follow the number in the same line
	w.streams.ErrOut = later
	defer func() {
		w.progress.Stop()
		w.streams.ErrOut = screen
		_, _ = later.WriteTo(screen)
	}()
	switch {
	case len(w.files) > 0:
		err = w.read(report)
	case w.url == "":
		err = w.ask(ctx, report)
	}
	if err != nil {
		return err
	}
	return w.searchArchives(ctx, report)
}

// hint says where else to look.
func (w *whoCommand) hint() string {
	switch {
	case w.url != "":
		return "The archive has no record of this object. Its rule does not archive, or the archive has deleted the record after its time.\n"
	case len(w.files) > 0:
		return "The files have no record about this object. Records about objects that garbage collection deleted name their owner.\n"
	default:
		return "Events exist for an hour by default, and only for rules with events: PerObject. Search the log of Sunset, or the audit log of the API server, with -f.\n"
	}
}

// read searches files.
func (w *whoCommand) read(report *who.Report) error {
	for _, name := range w.files {
		if err := w.readFile(report, name); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return nil
}

func (w *whoCommand) readFile(report *who.Report, name string) error {
	from := w.streams.In
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	const longest = 16 << 20 // an event of the API server may have the whole object twice
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longest)
	for n := 1; lines.Scan(); n++ {
		report.FindInLine(lines.Bytes(), fmt.Sprintf("line %d of %s", n, name))
		w.progress.Add(1)
	}
	return lines.Err()
}

const whoHelp = `Find who deleted an object. With -f, the command searches files: audit records in a log of Sunset or in CloudEvents, and
DELETE requests and evictions in an audit log of the API server, with one event of audit.k8s.io in each line. It leaves out
dry runs, which it does not recognize if the audit level is Metadata. A request that deleted a collection of objects, as when
a namespace is deleted, may have deleted the object too: see the selectors of the request. With --url, the command searches
an archive. It reads the cluster for neither.

Without -f and --url, it searches the Events about the object, which Sunset writes for rules with events: PerObject, the
deletions that the RetentionLedgers record at this moment, and the RetentionArchives, for rules that archive. It also says
whether an object of that name exists now, if the cluster serves its kind. You need permission to list Events in the
namespace; without permission to list RetentionLedgers or RetentionArchives, or to read their buckets, the command leaves
them out. In archives, it also finds objects that garbage collection deleted, if a record includes them.

Exit codes: 0 the command found a deletion; 1 it found none, or could not read all of an archive; 2 wrong usage, or a
file or cluster that cannot be read.`

const whoExamples = `  # Which rule deleted this Job? Search the logs of all replicas
  kubectl logs -n sunset-system deploy/sunset-controller --all-pods | kubectl sunset who job/report -n shop -f -

  # Search an audit log of the API server, which also has the deletions of other users
  kubectl sunset who job/report -n shop -f /var/log/kubernetes/audit.log

  # Search the Events, ledgers and archives of the cluster
  kubectl sunset who job/report -n shop

  # Search an archive without the cluster
  kubectl sunset who pod/report-x2 --url 's3://backups/sunset?region=eu-central-1'`
