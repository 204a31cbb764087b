// SPDX-License-Identifier: Apache-2.0

package digests

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secrets reads values of Secrets in the namespace of Sunset, without a cache.
type secrets struct {
	live      client.Reader
	namespace string
}

// value returns one value, without spaces at its ends. The error does not contain it.
func (s secrets) value(ctx context.Context, name, key string) (string, error) {
	secret := &corev1.Secret{}
	if err := s.live.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, secret); err != nil {
		return "", fmt.Errorf("read Secret %s/%s: %w; with the chart, add its name to digests.secrets", s.namespace, name, err)
	}
	value := strings.TrimSpace(string(secret.Data[key]))
	if value == "" || strings.ContainsAny(value, "\r\n") {
		return "", fmt.Errorf("key %q of Secret %s/%s has no single line", key, s.namespace, name)
	}
	return value, nil
}
