package ledgers

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ErrNewer is wrapped by the trouble of a policy whose ledger a newer version of Sunset has written.
var ErrNewer = errors.New("a newer version of Sunset wrote it, with fields that this version does not know")

var ledgerKind = v1alpha1.GroupVersion.WithKind("RetentionLedger")

// understand reads a ledger as it is stored. The error is ErrNewer if there is more in it: it may say that something counts
// which does not count here, and writing the ledger would drop it. The definition has the API server keep such fields. Those
// of metadata are the API server's. A field of another shape is more too: then only who the ledger is and whose is understood.
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

// outline is the ledger that is stored without what it says: its names, by which it can be deleted, and if that can be read,
// its policy.
func outline(stored *unstructured.Unstructured) *v1alpha1.RetentionLedger {
	l := &v1alpha1.RetentionLedger{}
	l.Name, l.UID, l.ResourceVersion = stored.GetName(), stored.GetUID(), stored.GetResourceVersion()
	fields, _ := stored.Object["policy"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &l.Policy); err != nil {
		l.Policy = v1alpha1.LedgerPolicy{}
	}
	return l
}
