// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/retry"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// changeCommand patches objects one by one. If it cannot change an object, it continues with the others.
type changeCommand struct {
	streams    genericiooptions.IOStreams
	connection connection
	namespace  string
	print      *genericclioptions.PrintFlags
	formats    []string
	dryRun     dryRunFlag
	// concerns reports whether the command is about an object; nil for every object.
	concerns func(*unstructured.Unstructured) bool
	// patch returns a merge patch for an object; nil if the object needs no change. Then the command prints unchanged. If the patch
	// depends on the version of the object, it has its resourceVersion.
	patch     func(*unstructured.Unstructured) (map[string]any, error)
	unchanged string
}

// newChange returns a command that prints each object with what it did, such as "held".
func newChange(streams genericiooptions.IOStreams, did string) *changeCommand {
	return &changeCommand{streams: streams, print: genericclioptions.NewPrintFlags(did).WithTypeSetter(scheme.Scheme)}
}

// add adds the flags that all these commands have.
func (o *changeCommand) add(c *cobra.Command, namespace string) {
	o.formats = addFormats(c, o.print)
	o.dryRun.add(c, "client: show the objects that would change; server: also have the API server check the changes", "client", "server")
	o.connection.add(c, &o.namespace, namespace)
	c.PreRunE = func(*cobra.Command, []string) error {
		_, err := o.connection.connect()
		return err
	}
}

// run changes the objects that are found.
func (o *changeCommand) run(ctx context.Context, find genericclioptions.ResourceFinder) error {
	if err := o.print.Complete("%s" + o.dryRun.suffix()); err != nil {
		return err
	}
	printer, err := printerOf(o.print, o.formats)
	if err != nil {
		return err
	}
	found, failed := 0, false
	err = find.Do().Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		object, isObject := info.Object.(*unstructured.Unstructured)
		if !isObject || o.concerns != nil && !o.concerns(object) {
			return nil
		}
		found++
		if err := o.change(info, printer); err != nil {
			failed = true
			fmt.Fprintf(o.streams.ErrOut, "%s\n", text.Escape(fmt.Sprintf("%s: %v", info.ObjectName(), err)))
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return err
	case failed:
		return errFindings
	case found == 0:
		_, err = fmt.Fprintln(o.streams.ErrOut, "No objects found.")
	}
	return err
}

// change patches an object. If the patch depends on its version, and the object changes in the meantime, it starts again. It does not
// change another object of the same name, which may have replaced it: that is an error.
func (o *changeCommand) change(info *resource.Info, printer printers.ResourcePrinter) error {
	helper := resource.NewHelper(info.Client, info.Mapping).WithFieldManager(program).DryRun(o.dryRun.isServer())
	found, isAgain := info.Object.(*unstructured.Unstructured).GetUID(), false
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if isAgain {
			if err := info.Get(); err != nil {
				return err
			}
		}
		isAgain = true
		object := info.Object.(*unstructured.Unstructured)
		if object.GetUID() != found { // the UID in the patch does not match, which is a Conflict too
			return apierrors.NewNotFound(info.Mapping.Resource.GroupResource(), info.Name)
		}
		patch, err := o.patch(object)
		if err != nil {
			return err
		}
		if patch == nil {
			return (&printers.NamePrinter{Operation: o.unchanged}).PrintObj(object, o.streams.ErrOut)
		}
		patch["metadata"].(map[string]any)["uid"] = found
		data, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		if o.dryRun.isClient() {
			return printMerged(printer, object, data, o.streams.Out)
		}
		changed, err := helper.Patch(info.Namespace, info.Name, types.MergePatchType, data, nil)
		if err != nil {
			return err
		}
		return printer.PrintObj(changed, o.streams.Out)
	})
}

// printMerged prints an object with a merge patch.
func printMerged(printer printers.ResourcePrinter, object *unstructured.Unstructured, patch []byte, w io.Writer) error {
	data, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	if data, err = jsonpatch.MergePatch(data, patch); err != nil {
		return err
	}
	merged := &unstructured.Unstructured{}
	if err := merged.UnmarshalJSON(data); err != nil {
		return err
	}
	return printer.PrintObj(merged, w)
}
