// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy"
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
	kind := archived.GroupVersionKind()
	live, err := c.Owner(ctx, policy.Owner{Kind: kind, Name: archived.GetName()}, archived.GetNamespace())
	if meta.IsNoMatchError(err) {
		return &unstructured.Unstructured{}, nil
	}
	for field := range archived.Object {
		if _, ok := live[field]; !ok && live != nil && kind.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
			delete(archived.Object, field)
		}
	}
	return &unstructured.Unstructured{Object: live}, err
}

// writeDifference writes how an object differs from an archived one, and whether it does.
func writeDifference(w io.Writer, side string, archived, object *unstructured.Unstructured) (differs bool, err error) {
	name := archived.GetKind() + "/" + archived.GetName()
	var lines [2][]string
	for i, o := range []*unstructured.Unstructured{archived, object} {
		if len(o.Object) == 0 {
			continue
		}
		o = o.DeepCopy()
		o.SetManagedFields(nil)
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return false, err
		}
		lines[i] = difflib.SplitLines(string(text))
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines[0], B: lines[1], FromFile: "archived/" + name, ToFile: side + "/" + name, Context: 3,
	})
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return text != "", err
}
