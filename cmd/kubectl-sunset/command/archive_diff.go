// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
)

// archiveDiff is the command archive diff.
type archiveDiff struct{ *archiveCommand }

func newArchiveDiff(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	d := &archiveDiff{newArchiveCommand(streams, now)}
	return d.complete(&cobra.Command{
		Use:     "diff (KIND[/NAME] | KIND NAME)... [-n NAMESPACE] [--archive NAME | --url URL]",
		Short:   "Compare archived objects with those of the cluster",
		Long:    archiveDiffHelp,
		Example: archiveDiffExamples,
		Args:    cobra.MinimumNArgs(1),
	}, d.run)
}

func (d *archiveDiff) run(ctx context.Context, from *selected) error {
	c, err := d.connection.connect()
	if err != nil {
		return err
	}
	from.entries = newest(from.entries)
	differs := false
	err = d.read(ctx, from, func(content archive.Content) error {
		object, err := content.Manifest()
		if err != nil {
			return err
		}
		live, err := liveObject(ctx, c, object)
		if err != nil {
			return err
		}
		one, err := writeDifference(d.streams.Out, "live", object, live)
		differs = differs || one
		return err
	})
	if err == nil && differs {
		return errFindings
	}
	return err
}

// newest returns the newest record of each object.
func newest(entries []archive.Entry) (kept []archive.Entry) {
	seen := map[string]bool{}
	for _, e := range entries {
		kind, name := e.Kind()
		if key := kind.String() + "/" + e.Namespace + "/" + name; !seen[key] {
			seen[key] = true
			kept = append(kept, e)
		}
	}
	return kept
}

// liveObject gets the object of the cluster that has the name of an archived one; nil if there is none. Of Secrets it gets only
// metadata, and then removes the rest of the archived one.
func liveObject(ctx context.Context, c *cluster.Cluster, archived map[string]any) (map[string]any, error) {
	o := &unstructured.Unstructured{Object: archived}
	kind, served, err := c.Serving(o.GroupVersionKind())
	if err != nil || !served {
		return nil, err
	}
	live, err := c.Get(ctx, kind, o.GetNamespace(), o.GetName())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && o.GetKind() == "Secret" && o.GetAPIVersion() == "v1" {
		for field := range archived {
			if _, ok := live[field]; !ok {
				delete(archived, field)
			}
		}
	}
	return live, err
}

// writeDifference writes how an object differs from an archived one, and whether it does. A nil object is compared as an empty text.
func writeDifference(w io.Writer, side string, archived, object map[string]any) (differs bool, err error) {
	name := (&unstructured.Unstructured{Object: archived}).GetKind() + "/" + (&unstructured.Unstructured{Object: archived}).GetName()
	var lines [2][]string
	for i, o := range []map[string]any{archived, object} {
		if o == nil {
			continue
		}
		unstructured.RemoveNestedField(o, "metadata", "managedFields")
		text, err := yaml.Marshal(o)
		if err != nil {
			return false, err
		}
		lines[i] = difflib.SplitLines(string(text))
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines[0], B: lines[1], FromFile: "archived/" + name, ToFile: side + "/" + name, Context: 3,
	})
	if err != nil || text == "" {
		return false, err
	}
	_, err = io.WriteString(w, text)
	return true, err
}
