package policies

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	sigsjson "sigs.k8s.io/json"
)

const namespacesPath = "/api/v1/namespaces"

func (l *Loop) readMetadata(ctx context.Context, path, as string, into any) error {
	return l.read(ctx, path, "application/json;as="+as+";g=meta.k8s.io;v=v1", into)
}

func (l *Loop) readJSON(ctx context.Context, path string, into any) error {
	return l.read(ctx, path, "application/json", into)
}

// read is one live read: no cache of ours or of the API server answers it.
func (l *Loop) read(ctx context.Context, path, accept string, into any) error {
	data, err := l.Live.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).Raw()
	if err != nil {
		return err
	}
	return sigsjson.UnmarshalCaseSensitivePreserveInts(data, into) // as client-go does: numbers of any object stay whole
}

func uidsOf(list *metav1.PartialObjectMetadataList) map[types.UID]bool {
	uids := make(map[types.UID]bool, len(list.Items))
	for i := range list.Items {
		uids[list.Items[i].UID] = true
	}
	return uids
}
