// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/archive/settings"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// reading is a RetentionArchive as it was last read.
type reading struct {
	*v1alpha1.RetentionArchive
	place   settings.Place
	invalid error // why it cannot be used; nil if it can
	shared  error // why spec.retain deletes nothing, because another one has the same url; nil if none has
}

// readFrom reads all RetentionArchives.
func readFrom(ctx context.Context, c client.Reader) ([]reading, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.RetentionArchiveKind.Kind + "List"))
	err := c.List(ctx, list)
	return parseAll(list.Items), err
}

// parse reads a RetentionArchive. The error says which fields this version does not know: such a field could say how to encrypt.
func parse(o *unstructured.Unstructured) reading {
	a := &v1alpha1.RetentionArchive{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, a, true)
	a.Name, a.UID, a.Generation, a.CreationTimestamp = o.GetName(), o.GetUID(), o.GetGeneration(), o.GetCreationTimestamp()
	url, _, _ := unstructured.NestedString(o.Object, "spec", "url") // also with other fields that cannot be read
	return reading{RetentionArchive: a, place: settings.PlaceOf(url), invalid: err}
}

// parseAll reads all RetentionArchives. If several have objects in one place, only the oldest can be used, and none of them deletes by
// spec.retain: the shortest one, without the holds of the others, would apply to the records of all.
func parseAll(list []unstructured.Unstructured) (all []reading) {
	for i := range list {
		all = append(all, parse(&list[i]))
	}
	slices.SortFunc(all, func(a, b reading) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range all {
		for j := range i {
			if older, younger := &all[j], &all[i]; older.place == younger.place {
				older.shared = cmp.Or(older.shared, fmt.Errorf("nothing is deleted by spec.retain while RetentionArchive %q, which is younger, has the same url; delete that one", younger.Name))
				younger.shared = errors.New(settings.SharedPlaceProblem(older.Name).String())
				younger.invalid = cmp.Or(younger.invalid, younger.shared)
			}
		}
	}
	return all
}
