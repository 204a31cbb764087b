package policyset

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	sigsjson "sigs.k8s.io/json"
)

const namespacesPath = "/api/v1/namespaces"

const asJSON = "application/json"

func (l *Reconciler) readMetadata(ctx context.Context, path, as string, into any) error {
	return l.readSoon(ctx, path, asJSON+";as="+as+";g=meta.k8s.io;v=v1", into)
}

func (l *Reconciler) readJSON(ctx context.Context, path string, into any) error {
	return l.readSoon(ctx, path, asJSON, into)
}

// readSoon is a read that a deletion may rest on: it fails if it takes longer than readTimeout.
func (l *Reconciler) readSoon(ctx context.Context, path, accept string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return l.read(ctx, path, accept, into)
}

// read is one live read: no cache of ours or of the API server answers it.
func (l *Reconciler) read(ctx context.Context, path, accept string, into any) error {
	result := l.Live.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil { // Raw's error leaves out what the API server says about it
		return err
	}
	data, err := result.Raw()
	if err != nil {
		return err
	}
	return sigsjson.UnmarshalCaseSensitivePreserveInts(data, into) // as client-go does: numbers of any object stay whole
}

// readList reads the metadata of a whole collection: what lacks a part of it, or is none, is an error.
func (l *Reconciler) readList(ctx context.Context, path string) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	if err := l.readMetadata(ctx, path, "PartialObjectMetadataList", list); err != nil {
		return nil, err
	}
	if !isComplete(list) {
		return nil, errPartial
	}
	return list, nil
}

// isComplete reports whether an answer is a list, and the whole of it.
func isComplete(list metav1.ListInterface) bool {
	return list.GetResourceVersion() != "" && list.GetContinue() == "" && ptr.Deref(list.GetRemainingItemCount(), 0) == 0
}

// sameName fails if an answer is not about the object that was asked for.
func sameName(got, asked metav1.Object) error {
	if got.GetUID() == "" || keyOf(got) != keyOf(asked) {
		return errOther
	}
	return nil
}

// isAbsent reports whether an error says that there is no object of a name. A server that does not serve the kind, or not
// yet, says less.
func isAbsent(err error, name string) bool {
	status := apierrors.APIStatus(nil)
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name == name
}

func uidsOf(list *metav1.PartialObjectMetadataList) map[types.UID]bool {
	uids := make(map[types.UID]bool, len(list.Items))
	for i := range list.Items {
		uids[list.Items[i].UID] = true
	}
	return uids
}
