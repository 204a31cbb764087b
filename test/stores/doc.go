// SPDX-License-Identifier: Apache-2.0

// Package stores runs object stores for tests: versitygw (S3) and fake-gcs-server (Google Cloud Storage) as processes on 127.0.0.1,
// and directories. A Proxy in front of one makes it slow, unavailable or wrong at a chosen moment, and has a journal of all requests.
//
// The stores are real programs, built once from the Go module proxy: see package test/cluster. Nothing outside of this machine is
// reached.
package stores
