// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The kinds of RetentionArchives and RetentionDigests.
var (
	ArchiveKind = ownKind(v1alpha1.RetentionArchiveKind, "retentionarchives", false)
	DigestKind  = ownKind(v1alpha1.RetentionDigestKind, "retentiondigests", false)
)

// Archive gets a RetentionArchive. An empty name stands for the only one that the cluster has.
func (c *Cluster) Archive(ctx context.Context, name string) (*v1alpha1.RetentionArchive, error) {
	if name != "" {
		object, err := c.Get(ctx, ArchiveKind, "", name)
		if err != nil {
			return nil, fmt.Errorf("get RetentionArchive %q: %w", name, err)
		}
		one := &v1alpha1.RetentionArchive{}
		return one, runtime.DefaultUnstructuredConverter.FromUnstructured(object, one)
	}
	all, err := c.Archives(ctx)
	if err != nil {
		return nil, err
	}
	switch len(all) {
	case 0:
		return nil, errors.New("the cluster has no RetentionArchive")
	case 1:
		return &all[0], nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return nil, fmt.Errorf("the cluster has several RetentionArchives; choose one with --archive: %s", strings.Join(names, ", "))
}

// Archives lists the RetentionArchives.
func (c *Cluster) Archives(ctx context.Context) (all []v1alpha1.RetentionArchive, err error) {
	if err := c.eachObject(ctx, ArchiveKind.Resource, "", metav1.ListOptions{}, decoded(&all)); err != nil {
		return nil, fmt.Errorf("list RetentionArchives: %w", err)
	}
	return all, nil
}

// SecretData gets the data of a Secret.
func (c *Cluster) SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := c.raw.Get().AbsPath("/api/v1").Namespace(namespace).Resource("secrets").Name(name).Do(ctx).Into(secret)
	return secret.Data, err
}
