// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/status"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// approveCommand is the command approve.
type approveCommand struct {
	streams    genericiooptions.IOStreams
	namespace  string
	hash       string
	yes        bool
	expiresIn  time.Duration
	dryRun     dryRunFlag
	output     outputFlags
	text       io.Writer // standard error, if standard output has the approval
	connection connection
}

func newApprove(streams genericiooptions.IOStreams) *cobra.Command {
	a := &approveCommand{streams: streams}
	c := &cobra.Command{
		Use:     "approve POLICY [-n NAMESPACE]",
		Short:   "Approve what a policy would delete",
		Long:    approveHelp,
		Example: approveExamples,
		RunE:    func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },
	}
	flags := c.Flags()
	flags.StringVar(&a.hash, "hash", "", "approve only the change with this hash, which condition ApprovalRequired shows")
	flags.BoolVarP(&a.yes, "yes", "y", false, "do not ask")
	const lifetime = "the approval counts for this `duration`, such as 12h or 30d, then the policy waits again; without it, the approval does not expire"
	flags.Func("expires-in", lifetime, func(text string) (err error) {
		if a.expiresIn, err = policy.ParseTTL(text); err == nil && a.expiresIn <= 0 {
			err = errors.New("must be longer than 0")
		}
		return err
	})
	a.dryRun.add(c, "client: show what would be approved; server: also have the API server check the approval", "client", "server")
	a.output.add(c, asNames)
	a.connection.add(c, &a.namespace, "the namespace of a RetentionPolicy; without it POLICY is a ClusterRetentionPolicy")
	c.ValidArgsFunction = completePolicies(&a.connection)
	return c
}

func (a *approveCommand) run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("name one policy")
	}
	c, err := a.connection.connect()
	if err != nil {
		return err
	}
	if a.text = a.streams.Out; a.output.printer != nil {
		a.text = a.streams.ErrOut
	}
	return a.approve(ctx, c, args[0])
}

func (a *approveCommand) approve(ctx context.Context, c *cluster.Cluster, name string) error {
	p, err := a.waiting(ctx, c, name, a.hash)
	if err != nil || p == nil {
		return err
	}
	p.describe(a.text)
	if a.dryRun.value == "none" && !a.yes {
		if err := a.ask(); err != nil {
			return err
		}
		before := p.pending
		if p, err = a.waiting(ctx, c, name, before.Hash); err != nil || p == nil {
			return err
		}
		if p.pending.Due.Week > before.Due.Week {
			return fmt.Errorf("%s would now delete %d objects within 7 days, more than it showed; run the command again", p, p.pending.Due.Week)
		}
	}
	approval, isNew := p.approval("", a.expiresIn), true // without a user, because another user may create it
	if !a.dryRun.isClient() {
		user, err := c.Username(ctx)
		if err != nil {
			return err
		}
		if approval, isNew, err = a.create(ctx, c, p, user); err != nil {
			return fmt.Errorf("approve %s: %w", p, err)
		}
	}
	if !isNew {
		fmt.Fprintf(a.text, "%s is already approved; the controller has not read the approval yet\n", p)
	}
	if a.output.printer != nil {
		return a.output.printer.PrintObj(&unstructured.Unstructured{Object: approval}, a.streams.Out)
	}
	if isNew {
		fmt.Fprintf(a.text, "%s approved%s\n", p, a.dryRun.suffix())
	}
	return nil
}

// create creates an approval, or returns the one that the change has already. It uses another name if there is an approval that
// no longer counts.
func (a *approveCommand) create(ctx context.Context, c *cluster.Cluster, p *change, user string) (approval map[string]any, isNew bool, err error) {
	kind, object := cluster.ApprovalKind(a.namespace), p.approval(user, a.expiresIn)
	meta := object["metadata"].(map[string]any)
	name := meta["name"].(string)
	for i := 2; ; i++ {
		created, err := c.Create(ctx, kind, object, a.dryRun.isServer())
		if !apierrors.IsAlreadyExists(err) {
			return created, true, err
		}
		known, err := c.Get(ctx, kind, a.namespace, meta["name"].(string))
		switch {
		case apierrors.IsNotFound(err): // it was deleted in the meantime
		case err != nil:
			return nil, false, err
		case p.isApprovedBy(known):
			return known, false, nil
		}
		meta["name"] = fmt.Sprintf("%s-%d", name, i)
	}
}

// isApprovedBy reports whether an approval is for the policy, and counts now.
func (b *change) isApprovedBy(object map[string]any) bool {
	var known v1alpha1.RetentionApproval // a ClusterRetentionApproval has the same fields
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object, &known) != nil {
		return false
	}
	end := known.Spec.ExpirationTime
	return known.DeletionTimestamp == nil && known.Spec.Policy.UID == b.version.UID && known.Spec.Hash == b.pending.Hash &&
		(end == nil || end.After(time.Now()))
}

// waiting returns what waits for approval; nil if nothing waits. With a hash, another change is an error.
func (a *approveCommand) waiting(ctx context.Context, c *cluster.Cluster, name, hash string) (*change, error) {
	p, err := readChange(ctx, c, a.namespace, name)
	switch {
	case err != nil:
		return nil, err
	case p.pending == nil && (p.counting || p.isOutdated()):
		return nil, fmt.Errorf("the controller is still counting what %s would delete; run the command again in a few seconds", p)
	case p.pending == nil:
		fmt.Fprintf(a.text, "%s does not wait for approval\n", p)
		return nil, nil
	case p.isOutdated():
		return nil, fmt.Errorf("%s changed after the controller counted its objects; run the command again in a few seconds", p)
	case hash != "" && hash != p.pending.Hash:
		return nil, fmt.Errorf("%s now waits for approval of another change, with hash %s instead of %s; review it first", p, p.pending.Hash, hash)
	}
	return p, nil
}

// ask asks the user to confirm.
func (a *approveCommand) ask() error {
	fmt.Fprint(a.text, "Approve? [y/N]: ")
	answer, err := bufio.NewReader(a.streams.In).ReadString('\n')
	switch text := strings.ToLower(strings.TrimSpace(answer)); {
	case text == "y" || text == "yes":
		return nil
	case err != nil && text == "":
		return errors.New("not approved: no answer; add --yes to approve without a question")
	default:
		return errors.New("not approved")
	}
}

// maxPolicyName leaves room for the hash in the name of an approval.
const maxPolicyName = 253 - len("-") - 32 - len("-9999")

// approval returns the approval of the change as an object. It goes away with the policy.
func (b *change) approval(user string, expiresIn time.Duration) map[string]any {
	name := b.version.Name
	if len(name) > maxPolicyName {
		name = strings.TrimRight(name[:maxPolicyName], "-.")
	}
	spec := v1alpha1.ApprovalSpec{
		Policy: v1alpha1.ApprovedPolicy{Name: b.version.Name, UID: b.version.UID}, Hash: b.pending.Hash, Objects: b.pending.Due.Week,
		Namespaces: b.pending.Namespaces, Rules: b.pending.Rules, ApprovedBy: user,
	}
	if expiresIn > 0 {
		spec.ExpirationTime = &metav1.Time{Time: time.Now().Add(expiresIn)}
	}
	written, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec) // every type that has JSON can be converted
	metadata := map[string]any{"name": name + "-" + b.pending.Hash, "ownerReferences": []any{map[string]any{
		"apiVersion": b.kind.GroupVersion().String(), "kind": b.kind.Kind, "name": b.version.Name, "uid": string(b.version.UID),
	}}}
	if b.version.Namespace != "" {
		metadata["namespace"] = b.version.Namespace
	}
	kind := cluster.ApprovalKind(b.version.Namespace)
	return map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": metadata, "spec": written}
}

// change is the change of a policy that waits for approval.
type change struct {
	kind       cluster.Kind
	version    *cluster.Metadata
	generation int64 // the generation that the status describes
	pending    *v1alpha1.PendingApproval
	counting   bool // the controller has not finished counting
	rules      []v1alpha1.RuleStatus
}

func readChange(ctx context.Context, c *cluster.Cluster, namespace, name string) (*change, error) {
	kind := cluster.PolicyKind(namespace)
	object, err := c.Get(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	version, err := cluster.MetadataOf(object)
	if err != nil {
		return nil, err
	}
	observed, err := status.Of(object)
	if err != nil {
		return nil, err
	}
	enforcing := meta.FindStatusCondition(observed.Conditions, v1alpha1.ConditionEnforcing)
	counting := enforcing != nil && enforcing.Reason == "Counting"
	return &change{kind, version, observed.ObservedGeneration, observed.PendingApproval, counting, observed.Rules}, nil
}

// String names the policy as kubectl does.
func (b *change) String() string {
	return strings.ToLower(b.kind.Kind) + "." + b.kind.Group + "/" + b.version.Name
}

// isOutdated reports whether the status describes an earlier spec.
func (b *change) isOutdated() bool {
	return b.generation != b.version.Generation
}

func (b *change) describe(w io.Writer) {
	what := "the policy is new or has changed, or what kept its objects has; condition ApprovalRequired says which"
	if len(b.pending.Rules) > 0 {
		what = "rules whose objects could not be counted before: " + strings.Join(b.pending.Rules, ", ")
	}
	if len(b.pending.Namespaces) > 0 {
		what = "a change in these namespaces: the rules now apply there, or no longer keep objects there: " + strings.Join(b.pending.Namespaces, ", ")
	}
	fmt.Fprintf(w, "due now:       %s that the rules select\nwithin 7 days: at most %d\nbecause of:    %s\napproved as:   %s\n",
		explain.Share(b.pending.Due.Now, b.pending.Matched), b.pending.Due.Week, what, b.pending.Hash)
	for _, r := range b.rules {
		names := make([]string, len(r.Soonest))
		for i, s := range r.Soonest {
			names[i] = strings.TrimPrefix(s.Namespace+"/"+s.Name, "/")
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "soonest:       rule %s: %s\n", r.Name, text.Escape(strings.Join(names, ", ")))
		}
	}
	fmt.Fprintln(w, "all objects:   kubectl sunset preview")
}

const approveHelp = `Approve what a policy would delete because of a change, if it waits with condition ApprovalRequired. Review the
objects with preview or explain first. The command shows what it approves, asks, and creates a ClusterRetentionApproval,
or with -n a RetentionApproval. The approval covers only the present version of the policy, or if the policy waits
because of rules or namespaces, only these. If the policy changes while the command runs, it is not approved. Two
changes wait one after the other: a policy can wait again, with another hash, after an approval. To withdraw an
approval, delete the object. With -o, standard output contains only the approval.

Exit codes: 0 approved, or the policy does not wait for approval; 2 wrong usage, not confirmed, no such policy, a policy
that changed, or a request that the API server rejects.`

const approveExamples = `  # What would be approved?
  kubectl sunset approve batch --dry-run=client

  # Approve what a ClusterRetentionPolicy and a RetentionPolicy would delete
  kubectl sunset approve batch
  kubectl sunset approve cleanup -n team-a

  # Approve exactly the change that condition ApprovalRequired shows, without a question, for 30 days
  kubectl sunset approve batch --hash=9f2c1d40b7a3e8155d0c6e2f8a914b37 --yes --expires-in=30d

  # Write the approval to a file, for a repository, without creating it
  kubectl sunset approve batch --dry-run=client -o yaml > approval.yaml

  # Who approved what?
  kubectl get clusterretentionapprovals`
