// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func newSuspend(streams genericiooptions.IOStreams) *cobra.Command {
	all := false
	o := newChange(streams, "suspended")
	o.unchanged = "is suspended already"
	o.patch = func(p *unstructured.Unstructured) (map[string]any, error) {
		mode := modeOf(p)
		if mode == v1alpha1.Suspend {
			return nil, nil
		}
		return modePatch(p, v1alpha1.Suspend, mode), nil
	}
	c := o.onPolicies("suspend (POLICY... [-n NAMESPACE] | --all)", "Stop the deletions of policies", suspendHelp, suspendExamples, &all,
		func(p *unstructured.Unstructured) bool { return modeOf(p) == v1alpha1.Enforce })
	c.Flags().BoolVar(&all, "all", false, "every enforced policy: of the cluster and of all namespaces or, with -n, of one namespace")
	return c
}

func newResume(streams genericiooptions.IOStreams) *cobra.Command {
	all := false
	o := newChange(streams, "resumed")
	o.unchanged = "is not suspended"
	o.patch = func(p *unstructured.Unstructured) (map[string]any, error) {
		if modeOf(p) != v1alpha1.Suspend {
			return nil, nil
		}
		before := suspendedFrom(p)
		if before == "" {
			return nil, errors.New("kubectl sunset suspend did not set mode Suspend, so the mode before is not known; set spec.mode")
		}
		return modePatch(p, before, nil), nil
	}
	c := o.onPolicies("resume (POLICY... [-n NAMESPACE] | --all)", "Resume the deletions of suspended policies", resumeHelp, resumeExamples, &all,
		func(p *unstructured.Unstructured) bool { return suspendedFrom(p) != "" })
	c.Flags().BoolVar(&all, "all", false, "every policy that suspend has suspended: of the cluster and of all namespaces or, with -n, of one namespace")
	return c
}

func modeOf(p *unstructured.Unstructured) v1alpha1.Mode {
	mode, _, _ := unstructured.NestedString(p.Object, "spec", "mode")
	if mode == "" {
		return v1alpha1.DryRun
	}
	return v1alpha1.Mode(mode)
}

// suspendedFrom returns the mode that a policy had before suspend; empty if suspend was not the last to set the mode. A user who sets
// the mode does not remove the annotation, so it counts only while suspend manages field spec.mode.
func suspendedFrom(p *unstructured.Unstructured) v1alpha1.Mode {
	isManager := slices.ContainsFunc(p.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		var fields struct {
			Spec struct {
				Mode json.RawMessage `json:"f:mode"`
			} `json:"f:spec"`
		}
		return m.Manager == program && m.FieldsV1 != nil && json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Mode != nil
	})
	before := v1alpha1.Mode(p.GetAnnotations()[v1alpha1.ResumeModeAnnotation])
	if isManager && modeOf(p) == v1alpha1.Suspend && (before == v1alpha1.Enforce || before == v1alpha1.DryRun) {
		return before
	}
	return ""
}

// modePatch sets the mode of this version of a policy, and the mode that resume sets; nil removes that.
func modePatch(p *unstructured.Unstructured, mode v1alpha1.Mode, resume any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": p.GetResourceVersion(), "annotations": map[string]any{v1alpha1.ResumeModeAnnotation: resume}},
		"spec":     map[string]any{"mode": mode},
	}
}

// onPolicies returns a command for named policies, or for all policies that the command concerns.
func (o *changeCommand) onPolicies(use, short, long, example string, all *bool, concerns func(*unstructured.Unstructured) bool) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Example: example}
	c.RunE = func(c *cobra.Command, args []string) error {
		if *all == (len(args) > 0) {
			return errors.New("name one or more policies, or use --all")
		}
		if *all {
			o.concerns = concerns
		}
		return o.run(c.Context(), o.policies(args))
	}
	o.add(c, "the namespace of RetentionPolicies; without it, a name is that of a ClusterRetentionPolicy")
	c.ValidArgsFunction = completePolicies(&o.connection)
	return c
}

const (
	clusterPolicyType = "clusterretentionpolicies.v1alpha1.sunset-k8s.io"
	policyType        = "retentionpolicies.v1alpha1.sunset-k8s.io"
)

// policies finds policies: of the namespace that the user gives, or otherwise of the cluster. Without names it finds all, with
// those of all namespaces.
func (o *changeCommand) policies(names []string) genericclioptions.ResourceFinder {
	find := resource.NewBuilder(o.connection).Unstructured().ContinueOnError().Flatten()
	switch {
	case o.namespace == "" && len(names) == 0:
		find = find.AllNamespaces(true).SelectAllParam(true).ResourceTypes(clusterPolicyType, policyType)
	case o.namespace == "":
		find = find.ResourceNames(clusterPolicyType, names...)
	case len(names) == 0:
		find = find.NamespaceParam(o.namespace).DefaultNamespace().SelectAllParam(true).ResourceTypes(policyType)
	default:
		find = find.NamespaceParam(o.namespace).DefaultNamespace().ResourceNames(policyType, names...)
	}
	return genericclioptions.ResourceFinderForResult(find.Do())
}

const suspendHelp = `Set mode Suspend on policies. From the moment that the API server confirms it, a policy begins no deletion after one second,
and no other policy deletes the objects that its rules find eligible. The command records the mode in annotation
sunset-k8s.io/resume-mode, from which resume restores it. It works without a running controller: when the controller
runs again, it reads the mode first.

With --all it suspends every enforced policy that exists now. To stop all deletions by any policy, remove the permissions of
the controller: kubectl delete clusterrolebinding -l rbac.sunset-k8s.io/grants-deletion=true

If a GitOps controller manages the policies, suspend its synchronization first, or it restores the mode.

Exit codes: 0 every policy has mode Suspend; 1 the command could not change a policy; 2 wrong usage, no such policy, or a
cluster that does not respond.`

const suspendExamples = `  # Stop the deletions of a ClusterRetentionPolicy, and of a RetentionPolicy
  kubectl sunset suspend batch
  kubectl sunset suspend cleanup -n team-a

  # Stop the deletions of every policy
  kubectl sunset suspend --all

  # Which policies would that suspend?
  kubectl sunset suspend --all --dry-run=client -o name`

const resumeHelp = `Restore the mode that policies had before suspend. A policy whose mode was Enforce deletes due objects at once, if it had
this version in the last seven days; otherwise Sunset counts first, and may wait for approval. Preview the policy before
you resume it.

With --all it resumes every policy that suspend has suspended. Neither form resumes a policy whose mode another user or
program has set since: set its mode yourself.

Exit codes: 0 every policy has its mode again; 1 the command could not change a policy; 2 wrong usage, no such policy, or
a cluster that does not respond.`

const resumeExamples = `  # What would the policy delete?
  kubectl sunset preview -f batch.yaml

  # Resume it
  kubectl sunset resume batch

  # Resume all policies of a namespace
  kubectl sunset resume --all -n team-a`
