// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ErrNewer says that a newer version of Sunset has written the ledger. An error of State wraps it.
var ErrNewer = errors.New("a newer version of Sunset wrote it, with fields that this version does not know; upgrade the controller")

// understand converts a stored ledger. The error is ErrNewer if the object has fields that this version does not know, or
// fields of another type. Such a field may count a deletion that this version does not count, and a write would drop the
// field. The API server keeps unknown fields because the CustomResourceDefinition says so. Metadata belongs to the API
// server and is not checked. If a field has another type, understand returns only the identity of the ledger and its
// policy.
func understand(stored *unstructured.Unstructured) (*v1alpha1.RetentionLedger, error) {
	l := &v1alpha1.RetentionLedger{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, l); err != nil {
		return outline(stored), fmt.Errorf("%w: %w", ErrNewer, err)
	}
	own := maps.Clone(stored.Object)
	delete(own, "metadata")
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(own, &v1alpha1.RetentionLedger{}, true)
	if err != nil {
		return l, fmt.Errorf("%w: %w", ErrNewer, err)
	}
	return l, nil
}

// outline returns a stored ledger without its content: the name, UID and resourceVersion that deleting it needs, and its
// policy if that can be read.
func outline(stored *unstructured.Unstructured) *v1alpha1.RetentionLedger {
	l := &v1alpha1.RetentionLedger{}
	l.Name, l.UID, l.ResourceVersion = stored.GetName(), stored.GetUID(), stored.GetResourceVersion()
	fields, _ := stored.Object["policy"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &l.Policy); err != nil {
		l.Policy = v1alpha1.LedgerPolicy{}
	}
	return l
}
