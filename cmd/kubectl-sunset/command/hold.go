// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func newHold(streams genericiooptions.IOStreams) *cobra.Command {
	var reason string
	o := newChange(streams, "held")
	o.unchanged = "is held already"
	o.patch = func(object *unstructured.Unstructured) (map[string]any, error) {
		value, isSet := object.GetAnnotations()[v1alpha1.HoldAnnotation]
		if isSet && v1alpha1.IsHold(value) && (reason == "" || reason == value) {
			return nil, nil
		}
		if reason == "" {
			return annotations(v1alpha1.HoldAnnotation, "true"), nil
		}
		return annotations(v1alpha1.HoldAnnotation, reason), nil
	}
	c := o.onObjects("hold (TYPE NAME | TYPE/NAME | -f FILENAME)", "Keep objects, or all objects of a namespace", holdHelp, holdExamples)
	c.Flags().StringVar(&reason, "reason", "", `why the objects stay: the value of the annotation, instead of "true"`)
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !v1alpha1.IsHold(reason) {
			return errors.New(`--reason=false does not hold the object; run kubectl sunset unhold`)
		}
		return run(c, args)
	}
	return c
}

func newUnhold(streams genericiooptions.IOStreams) *cobra.Command {
	o := newChange(streams, "no longer held")
	o.unchanged = "is not held"
	o.patch = func(object *unstructured.Unstructured) (map[string]any, error) {
		if _, isSet := object.GetAnnotations()[v1alpha1.HoldAnnotation]; !isSet {
			return nil, nil
		}
		return annotations(v1alpha1.HoldAnnotation, nil), nil
	}
	return o.onObjects("unhold (TYPE NAME | TYPE/NAME | -f FILENAME)", "Remove the hold of objects or namespaces", unholdHelp, unholdExamples)
}

// annotations returns a merge patch of one annotation; nil removes it.
func annotations(name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}
}

// onObjects returns a command for objects that the user names as in kubectl annotate.
func (o *changeCommand) onObjects(use, short, long, example string) *cobra.Command {
	objects := genericclioptions.NewResourceBuilderFlags().WithFile(false, new("")).WithLabelSelector("").WithAll(false).WithAllNamespaces(false).WithLatest()
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), objects.ToBuilder(o.connection, args))
		},
	}
	objects.AddFlags(c.Flags())
	o.add(c, "the namespace of the objects, instead of that of the kubeconfig")
	c.ValidArgsFunction = completeObject(&o.connection)
	return c
}

const holdHelp = `Set annotation sunset-k8s.io/hold on objects. Sunset keeps an object that has it, and all objects of a Namespace that has it,
despite every policy. A hold takes effect within a second. It does not stop other programs or users from deleting the
objects.

The arguments and -f, -k, -l are those of kubectl annotate, which can set the annotation too.

Exit codes: 0 every object has the annotation; 1 the command could not change an object; 2 wrong usage, no such object, or a
cluster that does not respond.`

const holdExamples = `  # Keep one Job, and say why
  kubectl sunset hold job/nightly-42 -n shop --reason="incident 4711"

  # Keep all objects of a namespace
  kubectl sunset hold namespace/team-a

  # Keep all Pods with a label
  kubectl sunset hold pods -l app=web -n shop`

const unholdHelp = `Remove annotation sunset-k8s.io/hold from objects or Namespaces. If an object is due, Sunset deletes it then. If you remove
the hold of a Namespace and many objects are due there, their policies wait for approval first.

The arguments and -f, -k, -l are those of kubectl annotate, which can remove the annotation too.

Exit codes: 0 no named object has the annotation; 1 the command could not change an object; 2 wrong usage, no such object,
or a cluster that does not respond.`

const unholdExamples = `  # Remove the hold of a Job
  kubectl sunset unhold job/nightly-42 -n shop

  # Which Jobs have a hold, and would lose it?
  kubectl sunset unhold jobs --all -A --dry-run=client`
