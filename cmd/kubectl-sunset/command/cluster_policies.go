// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/status"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// clusterPolicies holds the cluster's policies, each in its own mode.
type clusterPolicies struct {
	policies  []*policy.Policy
	status    map[string]v1alpha1.RetentionPolicyStatus // by the name of the policy
	replaced  []*policy.Policy                          // by policies in files
	forbidden []error                                   // errors about policies that the user has no permission to read
	unread    []error                                   // errors about the namespace and its quotas, which the user has no permission to read
}

// readPermittedPolicies lists the cluster's policies that the user may list: in all namespaces, or otherwise in one.
func readPermittedPolicies(ctx context.Context, c *cluster.Cluster, loader *load.Loader, namespace string) (*clusterPolicies, error) {
	objects, forbidden, err := c.PermittedPolicies(ctx, namespace)
	if err != nil {
		return nil, err
	}
	current := &clusterPolicies{status: map[string]v1alpha1.RetentionPolicyStatus{}, forbidden: forbidden}
	for _, object := range objects {
		p := loader.Load(object)
		current.policies = append(current.policies, p)
		known, err := status.Of(object)
		if err != nil {
			return nil, err
		}
		current.status[p.Name] = known
		if deleting, _, _ := unstructured.NestedString(object, "metadata", "deletionTimestamp"); deleting != "" {
			p.Terminate()
		}
		if known.NotEnforcing() == string(v1alpha1.DryRun) { // by --dry-run of the controller
			p.ForceDryRun()
		}
		for _, r := range p.Rules {
			r.Unpermitted = meta.IsStatusConditionFalse(known.Conditions, v1alpha1.ConditionPermitted)
		}
	}
	return current, nil
}

// namespaces returns the result of namespacesFor. If the user has no permission to read one namespace, it counts as one without labels
// and holds; if to read its quotas, as one without quotas.
func (f *clusterPolicies) namespaces(ctx context.Context, c *cluster.Cluster, only string, rules []*policy.Rule) (map[string]policy.Namespace, error) {
	known, err := namespacesFor(ctx, c, only, rules)
	if only != "" && apierrors.IsForbidden(err) {
		f.unread = append(f.unread, err)
		return known, nil
	}
	return known, err
}

// grantPolicies holds the commands by which an administrator grants a user permission to read policies and namespaces.
var grantPolicies = []string{
	"kubectl create clusterrole sunset-reader --verb=get,list --resource=clusterretentionpolicies.sunset-k8s.io,retentionpolicies.sunset-k8s.io,namespaces",
	"kubectl create clusterrolebinding sunset-reader --clusterrole=sunset-reader --user=USER",
}

// failuresOf returns errors about resources that the user has no permission to read, and how to grant the permission.
func failuresOf(forbidden []error) []preview.Failure {
	var failures []preview.Failure
	for _, err := range forbidden {
		failures = append(failures, preview.Failure{Message: err.Error() + "; evaluated without it; " + grantHint()})
	}
	return failures
}

// unreadForExplain returns what could not be read of the policies, for a page of explain.
func (f *clusterPolicies) unreadForExplain() *explain.Unread {
	all := slices.Concat(f.forbidden, f.unread)
	if len(all) == 0 {
		return nil
	}
	unread := &explain.Unread{Grant: grantPolicies}
	for _, err := range all {
		unread.Errors = append(unread.Errors, err.Error())
	}
	return unread
}

func grantHint() string {
	return "to grant permission, an administrator replaces USER with your user name and runs: " + strings.Join(grantPolicies, " && ")
}

// addTo adds the cluster's policies to those of the files, which replace policies of the same name. A replacement gets the UID
// of the policy that it replaces, because the marks of its rules depend on the UID. All learn which versions the cluster prefers.
func (f *clusterPolicies) addTo(in *load.Contents, c *cluster.Cluster, loader *load.Loader) {
	for _, r := range rulesOf(in.Rules(), f.policies) {
		if r.Namespace != "" {
			r.Preferred = c.Preferred(policy.StoredAs(r.Kind))
		}
	}
	fromFiles := in.Policies
	for _, p := range f.policies {
		i := slices.IndexFunc(fromFiles, func(o load.Policy) bool { return o.Name == p.Name })
		if i < 0 {
			in.Policies = append(in.Policies, load.Policy{Policy: p})
			continue
		}
		f.replaced = append(f.replaced, p)
		loader.SetUID(fromFiles[i].Policy, p.UID)
	}
}

// judgeOf returns a judge that compares with the rules in force, if there are policies in files and the user may read the
// cluster's. The comparison includes kinds that only a replaced policy affects, because its rules and overrides are removed.
func (p *previewCommand) judgeOf(ctx context.Context, c *cluster.Cluster, input preview.Input, current *clusterPolicies) (_ judge, err error) {
	if input.Kinds == nil || len(current.forbidden) > 0 {
		input.Referred, err = findReferredIn(ctx, c, &input, rulesAbout(input.Kinds, input.Policies), notes{p.streams.ErrOut})
		return preview.New(input), err
	}
	beyond := affected(current.replaced, current.policies)
	before, err := current.findReferrers(ctx, c, &input, beyond, notes{p.streams.ErrOut})
	if err != nil {
		return nil, err
	}
	comparison := preview.NewComparison(input, before, beyond)
	for _, reason := range comparison.Uncompared() {
		notes{p.streams.ErrOut}.note("%s", reason)
	}
	return comparison, nil
}

// findReferrers finds the references for the rules of both sides. If the two sides declare different references, it searches
// for each. Notes are only about the new policies.
func (f *clusterPolicies) findReferrers(ctx context.Context, c *cluster.Cluster, input *preview.Input, beyond sets.Set[schema.GroupKind], say notes) (before preview.InForce, err error) {
	before.Policies = f.policies
	rules := rulesAbout(input.Kinds.Union(beyond), input.Policies, f.policies)
	if input.Referred, err = findReferredIn(ctx, c, input, rules, say); err != nil {
		return before, err
	}
	if before.Referred = input.Referred; preview.SameDeclarations(input.Policies, f.policies) {
		return before, nil
	}
	other := *input
	other.Policies = f.policies
	before.Referred, err = findReferredIn(ctx, c, &other, rules, notes{io.Discard})
	return before, err
}

// notes writes messages that are neither results nor errors.
type notes struct{ w io.Writer }

func (n notes) note(format string, args ...any) {
	fmt.Fprintln(n.w, "note: "+text.Escape(fmt.Sprintf(format, args...)))
}

func (n notes) all(said []string) {
	for _, text := range said {
		n.note("%s", text)
	}
}
