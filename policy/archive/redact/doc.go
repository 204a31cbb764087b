// SPDX-License-Identifier: Apache-2.0

// Package redact replaces or removes values of JSON documents by path, before the documents leave the process.
//
// A path is a JSONPath as in kubectl, without filters, slices and recursion: spec.containers[*].env[*].value, data.*,
// metadata.annotations['example.com/token']. It must not select the fields that identify an object.
package redact
