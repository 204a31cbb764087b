// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// Time returns the time of the API server, in whole seconds: the Date header of a response.
func (c *Cluster) Time(ctx context.Context) (time.Time, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.raw.Get().AbsPath("/version").URL().String(), nil)
	if err != nil {
		return time.Time{}, err
	}
	response, err := c.raw.Client.Do(request)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the API server: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	at, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the API server: %w", err)
	}
	return at, nil
}

// Document returns the OpenAPI document of a group and version. It returns nil if the cluster does not serve the version.
func (c *Cluster) Document(version schema.GroupVersion) (*spec3.OpenAPI, error) {
	document, err := openapi3.NewRoot(openapi.NewClient(c.raw)).GVSpec(version) // not cached
	if unknown := (*openapi3.GroupVersionNotFoundError)(nil); errors.As(err, &unknown) {
		return nil, nil
	}
	return document, err
}
