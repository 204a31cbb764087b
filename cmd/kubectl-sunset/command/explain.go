// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// explainCommand is the command explain.
type explainCommand struct {
	streams    genericiooptions.IOStreams
	files      fileFlags
	protection protectionFlags
	at         timeFlag
	output     outputFlags
	namespace  string
	node       nodeFlags
	connection connection
	loader     *load.Loader
	defined    map[schema.GroupKind][]string // names of the kinds that the files define
}

func newExplain(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	e := &explainCommand{streams: streams, at: timeFlag{now: now}}
	c := &cobra.Command{
		Use:     "explain (KIND/NAME [-n NAMESPACE] | image/NAME --node NODE | -f FILE|DIRECTORY...)",
		Aliases: []string{"why"},
		Short:   "Explain why an object is deleted or kept",
		Long:    explainHelp,
		Example: explainExamples,
		RunE:    func(c *cobra.Command, args []string) error { return e.run(c.Context(), args) },
	}
	flags := c.Flags()
	e.files.add(flags)
	flags.Var(&e.at, "at", "evaluate the rules at this time: RFC 3339, or a duration from now such as +7d")
	e.output.add(c, asNames)
	e.node.add(flags)
	e.protection.add(flags)
	e.connection.add(c, &e.namespace, "namespace of the object; the default is the namespace of the kubeconfig, or any namespace for objects in files")
	c.ValidArgsFunction = completeObject(&e.connection)
	return c
}

// objectName names the object to explain. The zero value stands for the only object in the files.
type objectName struct{ kind, name string }

// parseObjectName parses KIND/NAME, or KIND NAME.
func parseObjectName(args []string) (objectName, error) {
	kind, name := "", ""
	switch len(args) {
	case 0:
		return objectName{}, nil
	case 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case 2:
		kind, name = args[0], args[1]
	}
	if kind == "" || name == "" || strings.Contains(name, "/") && !isNamed(kind, v1alpha1.ImageKind) {
		return objectName{}, errors.New("name one object as KIND/NAME, such as job/report")
	}
	return objectName{kind, name}, nil
}

func (e *explainCommand) run(ctx context.Context, args []string) error {
	object, err := parseObjectName(args)
	if err != nil {
		return err
	}
	e.files.progress = terminal.StartProgress(e.streams.ErrOut, "objects read")
	defer e.files.progress.Stop()
	*e.files.Filenames = e.node.names(*e.files.Filenames)
	files, loader, in, err := e.files.load(nil, e.streams.In, &e.protection, load.Skim)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	e.loader = loader
	in.CheckNames(true)
	in.Enforce()
	e.defined = in.Names
	page, err := e.page(ctx, files, in, object)
	e.files.progress.Stop()
	if err != nil {
		load.WriteProblems(e.streams.ErrOut, in.Policies)
		return err
	}
	about := in.InFilesAbout(policy.StoredAs(schema.FromAPIVersionAndKind(page.Object.APIVersion, page.Object.Kind)))
	load.WriteProblems(e.streams.ErrOut, about)
	page.AsEnforced = asEnforced(page, about)
	if err := e.print(page); err != nil {
		return err
	}
	isInvalid := func(p load.Policy) bool { return len(p.Problems) > 0 }
	if slices.ContainsFunc(about, isInvalid) || hasFailed(page) || page.Unread != nil && files.Len() == 0 {
		return errFindings
	}
	return nil
}

// asEnforced names the policies that are dry runs in their files, and that affect the object.
func asEnforced(page *explain.Page, policies []load.Policy) []string {
	var names []string
	for _, p := range policies {
		selects := func(r explain.Rule) bool { return r.Policy == p.Name }
		changes := p.Namespace == page.Object.Namespace && len(p.Overrides) > 0
		if p.WrittenAsDryRun && (changes || slices.ContainsFunc(page.Rules, selects)) {
			names = append(names, p.Name)
		}
	}
	return names
}

// hasFailed reports whether an expression failed on the object.
func hasFailed(page *explain.Page) bool {
	for _, r := range page.Rules {
		for _, expression := range r.Expressions {
			if expression.Error != "" {
				return true
			}
		}
	}
	return false
}

func (e *explainCommand) print(page *explain.Page) error {
	of := page.Object
	return e.output.print(e.streams.Out, page, page.WriteText, nameOf(of.APIVersion, of.Kind, of.Name))
}

func (e *explainCommand) input(policies []*policy.Policy, namespace string) preview.Input {
	in := e.loader.Input(e.at.get())
	in.Policies, in.Namespace = policies, namespace
	return in
}
