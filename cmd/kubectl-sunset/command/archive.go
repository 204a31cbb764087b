// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/engine"
)

func newArchive(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:     "archive COMMAND",
		Short:   "Find archived objects, and restore them",
		Long:    archiveHelp,
		Example: archiveExamples,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return fmt.Errorf("name a command\nSee '%s --help'", c.CommandPath())
		},
	}
	c.AddCommand(newArchiveLs(streams, now), newArchiveGet(streams, now), newArchiveLogs(streams, now), newArchiveDiff(streams, now),
		newArchiveVerify(streams, now), newArchiveRestore(streams, now), newArchiveCompact(streams, now))
	return c
}

// archiveCommand is what the commands of archive have in common: where the archive is, and which records they are about.
type archiveCommand struct {
	archiveSource
	now           time.Time
	allNamespaces bool
	selector      string
	uid, policy   string
	since, until  timeFlag
	results       []string
	condition     string
	whole         bool // with a namespace, also the Namespace object
}

func newArchiveCommand(streams genericiooptions.IOStreams, now time.Time) *archiveCommand {
	return &archiveCommand{
		archiveSource: archiveSource{streams: streams}, now: now,
		since: timeFlag{now: now, past: true}, until: timeFlag{now: now, past: true},
	}
}

// addSelection adds the flags that select records.
func (a *archiveCommand) addSelection(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVarP(&a.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces and cluster-scoped objects; the default with --url")
	flags.StringVarP(&a.selector, "selector", "l", "", "only objects with these labels, such as app=web,tier!=cache")
	flags.StringVar(&a.uid, "uid", "", "only the object with this UID")
	flags.StringVar(&a.policy, "policy", "", "only objects that this policy deletes: NAME, or NAMESPACE/NAME for a RetentionPolicy")
	flags.StringSliceVar(&a.results, "result", []string{"deleted", "gone", "unknown", "none"},
		"only records with these results: deleted; gone (after a request without a definite answer, the object did not exist); kept (Sunset did not delete this version); unknown; none (not known yet)")
	flags.StringVar(&a.condition, "cel", "", `only records for which this CEL expression is true, such as 'record.outcome == "Failed"'; the variable object is the archived object`)
	a.addTimes(c)
}

func (a *archiveCommand) addTimes(c *cobra.Command) {
	for name, flag := range map[string]*timeFlag{"since": &a.since, "until": &a.until} {
		c.Flags().Var(flag, name, map[string]string{"since": "only records from this time on", "until": "only records before this time"}[name]+
			": RFC 3339, or a duration before now such as 7d")
		c.Flag(name).DefValue = ""
	}
}

// addConnection adds the flags of the archive and of the connection. The command must have its other flags already.
func (a *archiveCommand) addConnection(c *cobra.Command) {
	a.archiveSource.add(c)
	a.connection.add(c, &a.namespace, "namespace of the objects; the default is the namespace of the kubeconfig, or all with --url")
	c.ValidArgsFunction = completeKinds(&a.connection)
	completeNames(c, &a.connection, "archive", cobra.ShellCompDirectiveNoFileComp, archiveKind)
}

// selection returns the selection of the arguments and flags. The caller closes its Evaluator, unless that is nil.
func (a *archiveCommand) selection(ctx context.Context, from *openArchive, args []string) (s *archive.Selection, err error) {
	s = &archive.Selection{
		UID: a.uid, Policy: a.policy, Since: a.since.time, Until: a.until.time, Whole: a.whole, Resolve: from.resolve,
		IsNamed: func(name string, kind schema.GroupVersionKind) bool { return isNamed(name, kind) },
	}
	if s.Objects, err = archive.ParseObjects(args); err != nil {
		return nil, err
	}
	if s.Selector, err = labels.Parse(a.selector); err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	if s.Results, err = archive.ParseResults(a.results); err != nil {
		return nil, fmt.Errorf("--result: %w", err)
	}
	if s.Namespace, err = a.selectedNamespace(); err != nil {
		return nil, err
	}
	return s, a.compile(ctx, s)
}

// selectedNamespace returns the namespace of the selection; nil for all.
func (a *archiveCommand) selectedNamespace() (*string, error) {
	switch {
	case a.allNamespaces && a.namespace != "":
		return nil, errors.New("use either -n or -A")
	case a.allNamespaces, a.namespace == "" && a.url != "":
		return nil, nil
	case a.namespace != "":
		return &a.namespace, nil
	}
	namespace, _, err := a.connection.ToRawKubeConfigLoader().Namespace()
	return &namespace, err
}

// compile compiles the condition.
func (a *archiveCommand) compile(ctx context.Context, s *archive.Selection) error {
	if a.condition == "" {
		return nil
	}
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		return err
	}
	filter, problems := compiler.Filter(a.condition, "--cel")
	if len(problems) > 0 {
		p := problems[0]
		return fmt.Errorf("%s\n%s", p, p.Snippet())
	}
	s.Filter, s.Evaluator = filter, compiler.NewEvaluator(ctx)
	return nil
}

// find finds the records that the arguments and flags select.
func (a *archiveCommand) find(ctx context.Context, from *openArchive, args []string) (*archive.Selected, error) {
	selection, err := a.selection(ctx, from, args)
	if err != nil {
		return nil, err
	}
	if selection.Evaluator != nil {
		defer selection.Evaluator.Close()
	}
	progress := terminal.StartProgress(a.streams.ErrOut, "records found")
	defer progress.Stop()
	found, err := selection.Find(ctx, from.Reader, progress.Set)
	progress.Stop()
	if err == nil && found.Failed > 0 {
		notes{a.streams.ErrOut}.note("--cel fails on %s, which the command does not select; the first is %v", preview.Count(found.Failed, "record"), found.Failure)
	}
	return found, err
}

// read reads the records of entries, and shows the number.
func (a *archiveCommand) read(ctx context.Context, from *openArchive, entries []archive.Entry, yield func(archive.Content) error) error {
	progress, n := terminal.StartProgress(a.streams.ErrOut, "records read"), 0
	defer progress.Stop()
	return archive.Read(ctx, from.Reader, entries, func(c archive.Content) error {
		n++
		progress.Set(n)
		return yield(c)
	})
}

// noRecords says that nothing was found.
func (a *archiveCommand) noRecords(from *openArchive) {
	fmt.Fprintf(a.streams.ErrOut, "No record found in archive %s.\n", from.Name)
}
