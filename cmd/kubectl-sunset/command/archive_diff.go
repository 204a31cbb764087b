// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
)

func newArchiveDiff(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	a := newArchiveCommand(streams, now)
	return a.complete(&cobra.Command{
		Use:     "diff (KIND[/NAME] | KIND NAME)...",
		Short:   "Compare archived objects with those of the cluster",
		Long:    archiveDiffHelp,
		Example: archiveDiffExamples,
		Args:    cobra.MinimumNArgs(1),
	}, func(ctx context.Context, from *openArchive) error {
		c, err := a.connection.connect()
		if err != nil {
			return err
		}
		from.entries = newest(from.entries)
		differs := false
		err = a.read(ctx, from, func(content archive.Content) error {
			object, err := content.Manifest()
			if err != nil {
				return err
			}
			live, err := liveObject(ctx, c, object)
			if err != nil {
				return err
			}
			one, err := writeDifference(streams.Out, "live", object, live)
			differs = differs || one
			return err
		})
		if err == nil && differs {
			return errFindings
		}
		return err
	})
}

// newest returns the newest record of each object.
func newest(entries []archive.Entry) []archive.Entry {
	seen := map[string]bool{}
	return slices.DeleteFunc(entries, func(e archive.Entry) bool {
		kind, name := e.Kind()
		key := kind.String() + "/" + e.Namespace + "/" + name
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// liveObject gets the object of the cluster that has the name of an archived one; an empty one if there is none. Of Secrets it gets
// only metadata, and then removes the rest of the archived one.
func liveObject(ctx context.Context, c *cluster.Cluster, archived *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	kind, err := c.Serving(archived.GroupVersionKind())
	if err == nil {
		live.Object, err = c.Get(ctx, kind, archived.GetNamespace(), archived.GetName())
	}
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return live, nil
	}
	for field := range archived.Object {
		if _, ok := live.Object[field]; !ok && archived.GetKind() == "Secret" && archived.GetAPIVersion() == "v1" {
			delete(archived.Object, field)
		}
	}
	return live, err
}

// writeDifference writes how an object differs from an archived one, and whether it does.
func writeDifference(w io.Writer, side string, archived, object *unstructured.Unstructured) (differs bool, err error) {
	name := archived.GetKind() + "/" + archived.GetName()
	d := difflib.UnifiedDiff{FromFile: "archived/" + name, ToFile: side + "/" + name, Context: 3}
	if d.A, err = linesOf(archived); err != nil {
		return false, err
	}
	if d.B, err = linesOf(object); err != nil {
		return false, err
	}
	text, err := difflib.GetUnifiedDiffString(d)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return text != "", err
}

// linesOf returns an object as lines of YAML; none if it is empty.
func linesOf(o *unstructured.Unstructured) ([]string, error) {
	if len(o.Object) == 0 {
		return nil, nil
	}
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	text, err := yaml.Marshal(o.Object)
	return difflib.SplitLines(string(text)), err
}
