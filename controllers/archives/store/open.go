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
	awsKeyID        = "AWS_ACCESS_KEY_ID"
	awsSecret       = "AWS_SECRET_ACCESS_KEY"
	awsSession      = "AWS_SESSION_TOKEN"
	googleJSON      = "GOOGLE_APPLICATION_CREDENTIALS"
	azureAccount    = "AZURE_STORAGE_ACCOUNT"
	azureKey        = "AZURE_STORAGE_KEY"
	azureSAS        = "AZURE_STORAGE_SAS_TOKEN"
	paramAccount    = "storage_account"
	paramEndpoint   = "endpoint"
	paramAnonymous  = "anonymous"
	paramPathStyle  = "use_path_style"
	paramEncryption = "ssetype"
	paramKMSKey     = "kmskeyid"
	paramRole       = "role"
)

// scheme is one kind of store.
type scheme struct {
	parameters  []string   // of the URL
	credentials []string   // keys
	sets        [][]string // of keys that must be there together, if any is there: one of these
	open        func(ctx context.Context, u *url.URL, c credentials) (*blob.Bucket, error)
}

// credentials are the data of a Secret.
type credentials map[string][]byte

func (c credentials) get(key string) string { return strings.TrimSpace(string(c[key])) }

var schemes = map[string]scheme{
	"s3": {
		parameters: []string{"region", paramEndpoint, paramPathStyle, paramRole, paramEncryption, paramKMSKey, paramAnonymous,
			"dualstack", "fips", "hostname_immutable", "request_checksum_calculation", "response_checksum_validation"},
		credentials: []string{awsKeyID, awsSecret, awsSession},
		sets:        [][]string{{awsKeyID, awsSecret}},
		open:        openS3,
	},
	"gs": {
		parameters:  []string{paramEndpoint, paramAnonymous},
		credentials: []string{googleJSON},
		sets:        [][]string{{googleJSON}},
		open:        openGCS,
	},
	"azblob": {
		parameters:  []string{paramAccount, "domain", "protocol", "localemu"},
		credentials: []string{azureAccount, azureKey, azureSAS},
		sets:        [][]string{{azureKey}, {azureSAS}},
		open:        openAzure,
	},
	"file": {},
}

// Check reports whether Open could open a URL with these credentials, without opening it.
func Check(text string, secret map[string][]byte) error {
	_, _, err := parse(text, secret)
	return err
}

func parse(text string, secret map[string][]byte) (*url.URL, scheme, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, scheme{}, errors.New("url cannot be read; write one such as s3://BUCKET/PREFIX?region=REGION") // it may have a password
	}
	s, ok := schemes[u.Scheme]
	switch {
	case !ok:
		return nil, s, fmt.Errorf("url has the scheme %q; use s3, gs, azblob or file", u.Scheme)
	case u.User != nil:
		return nil, s, errors.New("url has a user; write credentials into a Secret")
	case u.Fragment != "" || u.Opaque != "":
		return nil, s, fmt.Errorf("url has a fragment or no //; write %s://...", u.Scheme)
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return nil, s, errors.New("url names no absolute path; write file:///DIRECTORY")
	case u.Scheme != "file" && u.Host == "":
		return nil, s, fmt.Errorf("url names no bucket; write %s://BUCKET/PREFIX", u.Scheme)
	}
	return u, s, errors.Join(s.checkParameters(u), s.checkCredentials(u.Scheme, secret))
}

func (s scheme) checkParameters(u *url.URL) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("the parameters of url cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(s.parameters, name) {
			return fmt.Errorf("url has the parameter %q, and %s has only: %s", name, u.Scheme, strings.Join(s.parameters, ", "))
		}
		if len(q[name]) > 1 {
			return fmt.Errorf("url has the parameter %q twice", name)
		}
	}
	return nil
}

func (s scheme) checkCredentials(name string, secret map[string][]byte) error {
	if len(secret) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(secret)) {
		if !slices.Contains(s.credentials, key) {
			return fmt.Errorf("the Secret has the key %q, and %s uses only: %s", key, name, strings.Join(s.credentials, ", "))
		}
	}
	complete := func(set []string) bool {
		return !slices.ContainsFunc(set, func(key string) bool { return credentials(secret).get(key) == "" })
	}
	if !slices.ContainsFunc(s.sets, complete) {
		return fmt.Errorf("the Secret has not all keys that %s needs: %s", name, strings.Join(s.credentials, ", "))
	}
	return nil
}

// Open opens the store of a URL: s3://BUCKET/PREFIX?region=REGION, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX?storage_account=NAME
// or file:///DIRECTORY. It sends no request to the store: Probe does. It may ask the environment for credentials.
//
// secret has the data of a Secret. If it is empty, the default credentials of the environment count, such as workload identity.
// Keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and optionally AWS_SESSION_TOKEN; GOOGLE_APPLICATION_CREDENTIALS with the content
// of the JSON file of a service account; AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, and AZURE_STORAGE_ACCOUNT if the URL has no
// storage_account. An unknown key is an error. No error has a value of the secret.
func Open(ctx context.Context, text string, secret map[string][]byte) (*Store, error) {
	u, s, err := parse(text, secret)
	if err != nil {
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
