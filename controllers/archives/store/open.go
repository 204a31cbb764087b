// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gocloud.dev/blob"

	"github.com/sunset-k8s/sunset/policy/archive/settings"
)

// The keys of credentials.
const (
	awsKeyID     = "AWS_ACCESS_KEY_ID"
	awsSecret    = "AWS_SECRET_ACCESS_KEY"
	awsSession   = "AWS_SESSION_TOKEN"
	googleJSON   = "GOOGLE_APPLICATION_CREDENTIALS"
	azureAccount = "AZURE_STORAGE_ACCOUNT"
	azureKey     = "AZURE_STORAGE_KEY"
	azureSAS     = "AZURE_STORAGE_SAS_TOKEN"
)

// scheme is one kind of store.
type scheme struct {
	credentials []string // keys
	open        func(ctx context.Context, u *url.URL, c credentials) (*blob.Bucket, error)
}

// credentials are the data of a Secret.
type credentials map[string][]byte

func (c credentials) get(key string) string { return strings.TrimSpace(string(c[key])) }

var schemes = map[string]scheme{
	"s3":     {credentials: []string{awsKeyID, awsSecret, awsSession}, open: openS3},
	"gs":     {credentials: []string{googleJSON}, open: openGCS},
	"azblob": {credentials: []string{azureAccount, azureKey, azureSAS}, open: openAzure},
	"file":   {},
}

// Open opens the store of a URL: s3://BUCKET/PREFIX?region=REGION, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX?storage_account=NAME
// or file:///DIRECTORY. It sends no request to the store: Probe does. It may ask the environment for credentials.
//
// secret has the data of a Secret. If it is empty, the default credentials of the environment count, such as workload identity.
// Keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and optionally AWS_SESSION_TOKEN; GOOGLE_APPLICATION_CREDENTIALS with the content
// of the JSON file of a service account; AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, and AZURE_STORAGE_ACCOUNT if the URL has no
// storage_account. An unknown key is an error. No error has a value of the secret.
func Open(ctx context.Context, text string, secret map[string][]byte) (*Store, error) {
	u, err := settings.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	s := schemes[u.Scheme]
	for _, key := range slices.Sorted(maps.Keys(secret)) {
		if !slices.Contains(s.credentials, key) {
			return nil, fmt.Errorf("the Secret has the key %q, and %s uses only: %s", key, u.Scheme, strings.Join(s.credentials, ", "))
		}
	}
	if s.open == nil {
		return openFiles(u)
	}
	bucket, err := s.open(ctx, u, secret)
	if err != nil {
		return nil, fmt.Errorf("open %s://%s: %w", u.Scheme, u.Host, err)
	}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		bucket = blob.PrefixedBucket(bucket, prefix+"/")
	}
	return New(bucket), nil
}

// missing is the error that a Secret lacks a key.
func missing(keys string) error { return fmt.Errorf("the Secret has no %s", keys) }
