// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gocloud.dev/blob"
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
	parameters  []string // of the URL
	credentials []string // keys
	open        func(ctx context.Context, u *url.URL, c credentials) (*blob.Bucket, error)
}

// credentials are the data of a Secret.
type credentials map[string][]byte

func (c credentials) get(key string) string { return strings.TrimSpace(string(c[key])) }

var schemes = map[string]scheme{
	"s3": {
		parameters: []string{"region", "endpoint", "use_path_style", "role", "ssetype", "kmskeyid", "anonymous",
			"dualstack", "fips", "hostname_immutable", "request_checksum_calculation", "response_checksum_validation"},
		credentials: []string{awsKeyID, awsSecret, awsSession},
		open:        openS3,
	},
	"gs":     {parameters: []string{"endpoint", "anonymous"}, credentials: []string{googleJSON}, open: openGCS},
	"azblob": {parameters: []string{"storage_account", "domain", "protocol", "localemu"}, credentials: []string{azureAccount, azureKey, azureSAS}, open: openAzure},
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
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("url cannot be read; write one such as s3://BUCKET/PREFIX?region=REGION") // it may have a password
	}
	s, ok := schemes[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("url has the scheme %q; use s3, gs, azblob or file", u.Scheme)
	}
	if err := s.check(u, secret); err != nil {
		return nil, err
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

// check refuses what the scheme does not have.
func (s scheme) check(u *url.URL, secret credentials) error {
	switch {
	case u.User != nil:
		return errors.New("url has a user; write credentials into a Secret")
	case u.Fragment != "" || u.Opaque != "":
		return fmt.Errorf("url has a fragment or no //; it must begin with %s://", u.Scheme)
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return errors.New("url names no absolute path; write file:///DIRECTORY")
	case u.Scheme != "file" && u.Host == "":
		return fmt.Errorf("url names no bucket; write %s://BUCKET/PREFIX", u.Scheme)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("the parameters of url cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(s.parameters, name) {
			return fmt.Errorf("url has the parameter %q, and %s has only: %s", name, u.Scheme, strings.Join(s.parameters, ", "))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(secret)) {
		if !slices.Contains(s.credentials, key) {
			return fmt.Errorf("the Secret has the key %q, and %s uses only: %s", key, u.Scheme, strings.Join(s.credentials, ", "))
		}
	}
	return nil
}

// missing is the error that a Secret lacks a key.
func missing(keys string) error { return fmt.Errorf("the Secret has no %s", keys) }
