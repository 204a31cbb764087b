// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// healthy returns a check that a server answers path with 200. It trusts only this cluster's authority, so another
// cluster's server never passes.
func (c *Cluster) healthy(path string) func(context.Context, int) error {
	return func(ctx context.Context, port int) error {
		config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem}}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		_, err = get(ctx, client, fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
		return err
	}
}

// get returns the body of a 200 response; every other response is an error.
func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return do(client, req)
}

func do(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", req.URL, resp.Status, bytes.TrimSpace(body))
	}
	return body, err
}
