// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy/audit"
)

func newArchiveDiff(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	a := newArchiveCommand(streams, now)
	a.prints = true
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
			live, err := c.Live(ctx, audit.Object{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()})
			if err != nil {
				return err
			}
			if kind, _ := content.Kind(); live.Object != nil && kind == (schema.GroupKind{Kind: "Secret"}) { // it has only metadata
				maps.DeleteFunc(object.Object, func(field string, _ any) bool { _, ok := live.Object[field]; return !ok })
			}
			restore.RemoveGenerated(object)
			restore.RemoveGenerated(live)
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
		if e.Namespace == "" && e.Dependent != "" {
			key = e.Place() + key + strconv.Itoa(e.Position) // its namespace is only in the record
		}
		isOlder := seen[key]
		seen[key] = true
		return isOlder
	})
}

// writeDifference writes how an object differs from an archived one, and whether it does. It masks the values of Secrets.
func writeDifference(w io.Writer, side string, archived, object *unstructured.Unstructured) (differs bool, err error) {
	name := text.EscapeLine(archived.GetKind() + "/" + archived.GetName())
	archived, object = archived.DeepCopy(), object.DeepCopy()
	if archived.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		maskSecret(archived, object)
	}
	var lines [2][]string
	for i, o := range []*unstructured.Unstructured{archived, object} {
		if len(o.Object) == 0 {
			continue
		}
		o.SetManagedFields(nil)
		manifest, err := yaml.Marshal(o.Object)
		if err != nil {
			return false, err
		}
		lines[i] = difflib.SplitLines(string(manifest))
	}
	difference, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines[0], B: lines[1], FromFile: "archived/" + name, ToFile: side + "/" + name, Context: 3,
	})
	if err == nil {
		_, err = io.WriteString(w, difference)
	}
	return difference != "", err
}

// masked replaces a value of a Secret, as in kubectl diff.
const masked = "***"

// maskSecret masks the values in two versions of a Secret, and the copy of them that kubectl apply keeps. Values that differ still differ.
func maskSecret(before, after *unstructured.Unstructured) {
	for _, path := range [][]string{{"data"}, {"stringData"}, {"metadata", "annotations"}} {
		was, _, _ := unstructured.NestedMap(before.Object, path...)
		is, _, _ := unstructured.NestedMap(after.Object, path...)
		mask(before, path, is, masked+" (before)")
		mask(after, path, was, masked+" (after)")
	}
}

// mask masks the values of a field. Those that differ in the other version become different.
func mask(o *unstructured.Unstructured, path []string, other map[string]any, different string) {
	values, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	fields, _ := values.(map[string]any)
	for key, value := range fields {
		theirs, inBoth := other[key]
		switch {
		case path[0] == "metadata" && key != corev1.LastAppliedConfigAnnotation:
		case inBoth && !reflect.DeepEqual(value, theirs):
			fields[key] = different
		default:
			fields[key] = masked
		}
	}
}
