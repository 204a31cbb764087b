// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Store writes recorded objects directly into etcd, with their UIDs and with their times shifted by later. url is the URL
// of etcd.
func Store(ctx context.Context, url string, objects []*unstructured.Unstructured, later time.Duration) error {
	for _, u := range objects {
		stored := u.DeepCopy()
		stored.SetResourceVersion("")
		text, err := stored.MarshalJSON()
		if err != nil {
			return err
		}
		if err := put(ctx, url, keyOf(u), Later(text, later)); err != nil {
			return fmt.Errorf("store %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

// keyOf is the key of an object in etcd.
func keyOf(u *unstructured.Unstructured) string {
	plural := map[string]string{
		"ClusterRetentionPolicy": "clusterretentionpolicies", "NodeImageRules": "nodeimagerules", "Node": "minions",
	}[u.GetKind()]
	if plural == "" {
		plural = strings.ToLower(u.GetKind()) + "s"
	}
	key := []string{"/registry"}
	for _, part := range []string{u.GroupVersionKind().Group, plural, u.GetNamespace(), u.GetName()} {
		if part != "" {
			key = append(key, part)
		}
	}
	return strings.Join(key, "/")
}

// put writes through etcd's JSON gateway.
func put(ctx context.Context, url, key string, value []byte) error {
	body, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": value})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v3/kv/put", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd returned %s: %s %w", response.Status, text, err)
	}
	return nil
}
