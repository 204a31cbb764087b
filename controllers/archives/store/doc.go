// SPDX-License-Identifier: Apache-2.0

// Package store opens the object stores that have archives: S3 and compatible stores, Google Cloud Storage, Azure Blob Storage and
// directories.
//
// Write promises that the store has exactly the bytes: it reads them back with another request and compares. A store that reports
// success and has other bytes, or nothing, is an error. It never replaces an object. Files are also synced to the disk.
//
// Credentials come from a Secret or from the environment of the process, such as workload identity, and never pass through
// environment variables that this process sets. A URL cannot name files of credentials.
package store
