// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"embed"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/offline"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/policy"
)

// unusedPolicies are copies of the samples about unused objects.
//
//go:embed unused/*.yaml
var unusedPolicies embed.FS

// unusedCommand is the command unused: a preview of these policies.
type unusedCommand struct{ previewer }

func newUnused(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	u := &unusedCommand{previewer{streams: streams, at: timeFlag{now: now}}}
	c := &cobra.Command{
		Use:     "unused [-f FILE|DIRECTORY...]",
		Short:   "Show which objects nothing uses",
		Long:    unusedHelp,
		Example: unusedExamples,
		RunE:    func(c *cobra.Command, args []string) error { return u.run(c.Context(), args) },
	}
	u.add(c, "the default")
	return c
}

func (u *unusedCommand) run(ctx context.Context, args []string) error {
	u.files.progress = terminal.StartProgress(u.streams.ErrOut, "objects read")
	defer u.files.progress.Stop()
	// The command deletes nothing.
	u.protection.allowKinds = slices.Concat(u.protection.allowKinds, builtin.Names(builtin.Referred), builtin.Names(builtin.Referring), []string{definitionKind})
	files, loader, in, err := u.files.load(args, u.streams.In, &u.protection, load.Skim)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	given, invalid := in.Documents(), in.Problems() > 0 // judge replaces the policies
	result, err := u.judge(ctx, files, in, loader)
	u.files.progress.Stop()
	if err != nil {
		return err
	}
	load.WriteProblems(u.streams.ErrOut, given)
	result.Rows = slices.DeleteFunc(result.Rows, func(r preview.Row) bool { return r.Verdict.Action == policy.Keep })
	switch {
	case u.output.is(asHTML):
		err = report.Write(u.streams.Out, report.OfUnused(result))
	case u.output.printer == nil:
		err = preview.WriteUnused(u.streams.Out, result, u.output.is(asWide))
	default:
		err = u.print(result)
	}
	if err == nil && (len(result.Failures) > 0 || invalid) {
		return errFindings
	}
	return err
}

// judge reads only the files if they contain objects, and the cluster otherwise. Of policies in files, and in the cluster, only the
// declared references count.
func (u *unusedCommand) judge(ctx context.Context, files *load.Files, in *load.Contents, loader *load.Loader) (*preview.Result, error) {
	input, err := u.input(loader)
	if err != nil {
		return nil, err
	}
	others, definitions := declarations(in.Rules()), in.Definitions()
	var c *cluster.Cluster
	var unread []preview.Failure
	if err := u.noteFiles(in); err != nil {
		return nil, err
	}
	if in.Others == 0 {
		if c, err = u.connection.connect(); err != nil {
			return nil, err
		}
		definitions, unread = u.readDefinitions(ctx, c)
	}
	if in.Policies, err = loadUnused(loader, definitions); err != nil {
		return nil, err
	}
	in.Enforce()
	own := in.Rules()
	unread = append(unread, problems(own)...)
	input.Kinds = kindsOf(own)
	if c != nil {
		input.Policies = own
		result, err := u.judgeCluster(ctx, c, input, others, loader)
		if err == nil {
			result.Fail(unread...)
		}
		return result, err
	}
	for _, p := range others {
		in.Policies = append(in.Policies, load.Policy{Policy: p})
	}
	result, _, err := offline.Preview(ctx, files.Feed(), in, input) // the files need not contain the kinds that the samples declare
	if err == nil {
		result.Fail(unread...)
	}
	return result, err
}

// loadUnused returns the policies of the samples, and those about the CustomResourceDefinitions.
func loadUnused(loader *load.Loader, definitions []load.Definition) (all []load.Policy, err error) {
	entries, err := unusedPolicies.ReadDir("unused")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		data, err := unusedPolicies.ReadFile("unused/" + entry.Name())
		if err != nil {
			return nil, err
		}
		var object map[string]any
		if err := yaml.Unmarshal(data, &object); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		all = append(all, load.Policy{Policy: loader.Load(object)})
	}
	for i, object := range definitionsPolicies(definitions) {
		p := loader.Load(object)
		if i > 0 {
			p.Rules = nil // one policy has the rule
		}
		all = append(all, load.Policy{Policy: p})
	}
	return all, nil
}

// judgeCluster evaluates the cluster's objects. The marks of a policy of the cluster count if it has the same name and rules. Its declared
// references count, unless a policy in files replaces it.
func (u *unusedCommand) judgeCluster(ctx context.Context, c *cluster.Cluster, input preview.Input, inFiles []*policy.Policy, loader *load.Loader) (*preview.Result, error) {
	current, err := readPermittedPolicies(ctx, c, loader, u.namespace)
	if err != nil {
		return nil, err
	}
	for _, p := range current.policies {
		if i := slices.IndexFunc(input.Policies, func(o *policy.Policy) bool { return o.Name == p.Name }); i >= 0 {
			loader.SetUID(input.Policies[i], p.UID)
		}
	}
	input.Policies = slices.Concat(input.Policies, inFiles, declarations(current.policies, inFiles...))
	if input.Namespaces, err = current.namespaces(ctx, c, input.Namespace, rulesOf(input.Policies)); err != nil {
		return nil, err
	}
	said := notes{io.Discard} // the cluster need not serve the kinds that the samples declare
	if input.Referred, err = findReferredIn(ctx, c, &input, rulesOf(input.Policies), said); err != nil {
		return nil, err
	}
	live := &clusterReader{cluster: c, input: input, judge: preview.New(input), selector: u.selector, progress: u.files.progress, optional: true}
	result, err := live.judge.Run(ctx, live.feed(ctx))
	if err != nil {
		return nil, err
	}
	result.Fail(slices.Concat(live.failures, failuresOf(slices.Concat(current.forbidden, current.unread)))...)
	return result, nil
}

// declarations returns policies with only their declared references, except those that others of the same name replace.
func declarations(all []*policy.Policy, replacing ...*policy.Policy) (others []*policy.Policy) {
	for _, p := range all {
		if len(p.References)+len(p.InvalidReferences()) == 0 || slices.ContainsFunc(replacing, func(o *policy.Policy) bool { return o.Name == p.Name }) {
			continue
		}
		only := *p
		only.Rules, only.Overrides = nil, nil
		others = append(others, &only)
	}
	return others
}

const unusedHelp = `Show which objects nothing uses: ConfigMaps and Secrets that nothing names, Services whose selector matches nothing,
bindings of roles that do not exist, finished Jobs and Pods that no controller deletes, and others. The command deletes
nothing, and Sunset need not be installed. It evaluates the rules of the samples unused-configmaps, unused-secrets and
unused/*, on the cluster, or only on the objects in files.

No command can prove that an object is unused: a program may read it by a name that is in its code. Declare the references
of custom resources with spec.references of policies: those of the policies in the cluster and in files count. If a kind
cannot be listed, or an object cannot be read, objects that may depend on it are not shown, and the command prints the
cause. Objects in protected namespaces and objects with a hold are not shown. A CustomResourceDefinition is unused if its API
group has no objects of any kind.

SINCE is the time since which the object has been unused: for Jobs and Pods since they finished, for others if a policy of
the cluster with the name and the rules of a sample has marked it. SIZE is the capacity of claims and volumes; with --prices
the command also shows what they cost in a month, estimated. With -o wide, DUE is when a policy with the name and the rules
of the sample would delete the object. In JSON and YAML, the output is that of preview, with only the objects that nothing
uses. -o html writes a page to share: one file that needs no network.

Exit codes: 0 success, also if some objects are unused; 1 a policy in a file is invalid, or the command could not list a
kind or read a reference; 2 wrong usage, or a file or cluster that cannot be read.`

const unusedExamples = `  # What does nothing use?
  kubectl sunset unused

  # What do the unused volumes cost?
  kubectl sunset unused --prices PersistentVolumeClaim=0.08,PersistentVolume=0.08 --currency EUR

  # In one namespace, as names
  kubectl sunset unused -n team-a -o name

  # As a page for the people who own the objects
  kubectl sunset unused -o html > unused.html

  # In files, without a cluster
  kubectl sunset unused -R -f manifests/`
