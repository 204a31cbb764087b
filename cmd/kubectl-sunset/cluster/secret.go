// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
)

func isSecret(kind schema.GroupKind) bool { return kind == schema.GroupKind{Kind: "Secret"} }

// secret gets the metadata of a Secret, and its type if that type holds the Secret.
func (c *Cluster) secret(ctx context.Context, kind Kind, namespace, name string) (map[string]any, error) {
	metadata, err := c.metadata.Resource(kind.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	object, err := withoutContent(metadata, kind.GroupVersionKind)
	if err != nil || engine.BuiltInHold(object) != "" {
		return object, err
	}
	held, err := c.heldType(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	if held != "" {
		object["type"] = held
	}
	return object, nil
}

// heldType returns the type of a Secret if that type holds it, and otherwise an empty string. Metadata does not contain the
// type, so heldType uses field selectors.
func (c *Cluster) heldType(ctx context.Context, kind Kind, namespace, name string) (string, error) {
	isListed := func(selector string) (bool, error) {
		options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String() + "," + selector}
		list, err := c.metadata.Resource(kind.Resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return false, fmt.Errorf("check whether the type of Secret %s holds it: %w", name, err)
		}
		return len(list.Items) > 0, nil
	}
	if isUnheld, err := isListed(engine.UnheldSecrets); isUnheld || err != nil {
		return "", err
	}
	for _, held := range engine.HeldSecretTypes() {
		if is, err := isListed("type=" + held); is || err != nil {
			return held, err
		}
	}
	return "", apierrors.NewNotFound(kind.Resource.GroupResource(), name) // it was deleted since the first request
}
