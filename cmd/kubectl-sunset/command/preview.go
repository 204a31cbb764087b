// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifests"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
)

// previewer is what the commands preview and unused share: their flags, and how they write a preview.
type previewer struct {
	streams    genericiooptions.IOStreams
	files      fileFlags
	protection protectionFlags
	prices     priceFlags
	at         timeFlag
	output     outputFlags
	namespace  string
	all        bool
	selector   string
	connection connection
}

// add adds the flags, and says when -A is the default. The command must have its other flags already.
func (p *previewer) add(c *cobra.Command, allByDefault string) {
	flags := c.Flags()
	p.files.add(flags)
	p.output.add(c, asNames, asWide, asHTML)
	flags.BoolVarP(&p.all, "all-namespaces", "A", false, "objects in all namespaces and cluster-scoped objects; "+allByDefault)
	flags.StringVarP(&p.selector, "selector", "l", "", "only objects that match this label selector, such as team=data,tier!=gold")
	p.protection.add(flags)
	p.prices.add(flags)
	p.connection.add(c, &p.namespace, "only objects in this namespace")
}

// previewCommand is the command preview.
type previewCommand struct {
	previewer
	images    imageFlags
	failAbove *int // deletions; nil for any number
}

func newPreview(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	p := &previewCommand{previewer: previewer{streams: streams, at: timeFlag{now: now}}}
	c := &cobra.Command{
		Use:     "preview [-f FILE|DIRECTORY...]",
		Short:   "Show which objects would be deleted, and when",
		Long:    previewHelp,
		Example: previewExamples,
		RunE:    func(c *cobra.Command, args []string) error { return p.run(c.Context(), args) },
	}
	flags := c.Flags()
	flags.Var(&p.at, "at", "evaluate the rules at this time: RFC 3339, or a duration from now such as +7d")
	flags.Func("fail-on", "end with exit code 1 if more objects are due at --at: `deletions>N`, such as deletions>100", p.failOn)
	p.images.add(flags, now)
	p.add(c, "the default, unless all policies in the files are of one namespace")
	return c
}

func (p *previewCommand) run(ctx context.Context, args []string) error {
	if p.images.file == manifests.Stdin && slices.Contains(*p.files.Filenames, manifests.Stdin) {
		return errors.New("standard input cannot be both -f and --images")
	}
	p.files.progress = terminal.StartProgress(p.streams.ErrOut, "objects read")
	defer p.files.progress.Stop()
	*p.files.Filenames = p.images.node.names(*p.files.Filenames)
	files, loader, in, err := p.files.load(args, p.streams.In, &p.protection, load.Skim)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	in.CheckNames(true)
	in.Check(loader)
	in.Enforce()
	result, err := p.judge(ctx, files, in, loader)
	p.files.progress.Stop()
	if err != nil {
		return err
	}
	load.WriteProblems(p.streams.ErrOut, in.Documents())
	load.WriteWarnings(p.streams.ErrOut, in.Policies)
	if err := p.print(result); err != nil {
		return err
	}
	isOver := p.isOver(result)
	if isOver {
		fmt.Fprintf(p.streams.ErrOut, "more than %d objects would be deleted at %s\n", *p.failAbove, result.At.Format(time.RFC3339))
	}
	if in.Problems() > 0 || len(result.Failures) > 0 || isOver {
		return errFindings
	}
	return nil
}

// failOn sets the number of deletions that a preview may show.
func (p *previewCommand) failOn(text string) error {
	number, isDeletions := strings.CutPrefix(strings.ReplaceAll(text, " ", ""), "deletions>")
	most, err := strconv.Atoi(number)
	if err != nil || !isDeletions || most < 0 {
		return errors.New("must be deletions>N, such as deletions>100")
	}
	p.failAbove = &most
	return nil
}

// isOver reports whether a preview has more deletions.
func (p *previewCommand) isOver(result *preview.Result) bool {
	deletions := 0
	for i := range result.Rows {
		if result.Rows[i].Verdict.Action == policy.Delete {
			deletions++
		}
	}
	return p.failAbove != nil && deletions > *p.failAbove
}

// judge reads only the files if they contain objects, and the cluster otherwise.
func (p *previewCommand) judge(ctx context.Context, files *load.Files, in *load.Contents, loader *load.Loader) (*preview.Result, error) {
	input, err := p.input(loader)
	if err != nil {
		return nil, err
	}
	offline := in.Others > 0 || p.images.file != ""
	switch {
	case offline && len(in.Policies) == 0:
		return nil, errors.New("the files contain objects and no policy; add a policy with -f")
	case offline && p.images.node.isLive():
		return nil, p.images.node.errNoFile()
	case offline:
		if err := p.noteFiles(in); err != nil {
			return nil, err
		}
		return p.judgeFiles(ctx, files, in, input)
	case files.Len() > 0 && len(in.Policies) == 0:
		return nil, errors.New("the files contain no policy and no other object")
	default:
		return p.judgeLive(ctx, in, input, loader)
	}
}

// noteFiles writes a note if the command does not read the cluster because the files have objects. It returns the error of checkClusterFlags.
func (p *previewer) noteFiles(in *load.Contents) error {
	err := p.connection.checkClusterFlags(in)
	if err == nil && in.Others > 0 {
		notes{p.streams.ErrOut}.note("the files contain objects besides policies, so the command does not read the cluster")
	}
	return err
}

func (p *previewer) input(loader *load.Loader) (preview.Input, error) {
	selector, err := labels.Parse(p.selector)
	if err != nil {
		return preview.Input{}, fmt.Errorf("--selector: %w", err)
	}
	if p.all {
		p.namespace = ""
	}
	in := loader.Input(p.at.get())
	in.Namespace, in.Selector = p.namespace, selector
	in.Prices, err = p.prices.parse()
	return in, err
}

// print writes JSON and YAML part by part, because a preview can be huge.
func (p *previewer) print(result *preview.Result) error {
	w := bufio.NewWriterSize(p.streams.Out, 64<<10)
	if err := p.printTo(w, result); err != nil {
		return err
	}
	return w.Flush()
}

func (p *previewer) printTo(w io.Writer, result *preview.Result) error {
	switch {
	case p.output.is(asHTML):
		return report.Write(w, report.OfPreview(result))
	case p.output.printer == nil:
		return preview.WriteTable(text.Writer{Writer: w, Style: text.StyleOf(p.streams.Out)}, result, p.output.is(asWide))
	case p.output.is("json"):
		return preview.WriteJSON(w, result)
	case p.output.is("yaml"):
		return preview.WriteYAML(w, result)
	case !p.output.is(asNames):
		return p.output.print(w, result.Document(), nil)
	}
	for i := range result.Rows {
		row := &result.Rows[i]
		if err := p.output.printer.PrintObj(nameOf(row.APIVersion, row.Kind, row.Name), w); err != nil {
			return err
		}
	}
	return nil
}
