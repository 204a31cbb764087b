// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
)

const namespacesPath = "/api/v1/namespaces"

const asJSON = "application/json"

func (l *Reconciler) readMetadata(ctx context.Context, path, as string, into any) error {
	return l.readSoon(ctx, path, asJSON+";as="+as+";g=meta.k8s.io;v=v1", into)
}

func (l *Reconciler) readJSON(ctx context.Context, path string, into any) error {
	return l.readSoon(ctx, path, asJSON, into)
}

// readSoon is a live read that deletions rely on: it fails if it takes longer than readTimeout.
func (l *Reconciler) readSoon(ctx context.Context, path, accept string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return l.read(ctx, path, accept, into)
}

// read sends one live request. No cache answers it, neither ours nor that of the API server.
func (l *Reconciler) read(ctx context.Context, path, accept string, into any) error {
	data, err := listwatch.Body(l.Live.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx))
	if err != nil {
		return err
	}
	return sigsjson.UnmarshalCaseSensitivePreserveInts(data, into) // as client-go does: integers stay exact
}

// readList reads the metadata of a whole collection. A response that is not a list, or not a complete one, is an error.
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

// isComplete reports whether a response is a complete list.
func isComplete(list metav1.ListInterface) bool {
	return list.GetResourceVersion() != "" && list.GetContinue() == "" && ptr.Deref(list.GetRemainingItemCount(), 0) == 0
}

// sameName returns an error if a response is not about the requested object.
func sameName(got, asked metav1.Object) error {
	if got.GetUID() == "" || keyOf(got) != keyOf(asked) {
		return errOther
	}
	return nil
}

// isAbsent reports whether an error says that no object has this name. The NotFound error of a server that does not serve the
// kind, or not yet, does not say so.
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
