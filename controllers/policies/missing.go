package policies

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// collection is what is known of the objects of a kind, and where the API server has each.
type collection interface {
	lacking(uids map[types.UID]bool, version string) []metav1.Object
	path(object metav1.Object) string
}

// confirmMissing asks for each object that a live list lacks: only the API server's word that there is none makes it gone.
// An empty list is what a server says that has not read its store yet. A namesake says so too, if the list has it or is too old to.
func (l *Loop) confirmMissing(ctx context.Context, of collection, list *metav1.PartialObjectMetadataList) error {
	listed := uidsOf(list)
	for _, missing := range l.missing(of, listed, list.ResourceVersion) {
		object := &metav1.PartialObjectMetadata{}
		err := l.readMetadata(ctx, of.path(missing), "PartialObjectMetadata", object)
		switch {
		case isAbsent(err, missing.GetName()):
		case err != nil:
			return fmt.Errorf("read %s: %w", of.path(missing), err)
		case object.UID == missing.GetUID() || sameName(object, missing) != nil,
			!listed[object.UID] && !newer(object.ResourceVersion, list.ResourceVersion):
			return fmt.Errorf("%s: %w", of.path(missing), errDisagree)
		}
	}
	return nil
}

// missing are the objects that are known and a live list should have, and has not.
func (l *Loop) missing(of collection, listed map[types.UID]bool, version string) []metav1.Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	return of.lacking(listed, version)
}
