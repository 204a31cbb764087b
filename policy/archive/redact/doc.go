// SPDX-License-Identifier: Apache-2.0

// Package redact replaces or removes values of JSON documents by path, before the documents leave the process.
//
// A path is a JSONPath as in kubectl, without filters, slices and recursion: spec.containers[*].env[*].value,
// metadata.annotations['example.com/token'], data.*. A leading "$" or "." and surrounding braces are not needed.
//
// A path also applies to the copy of the object in the annotation kubectl.kubernetes.io/last-applied-configuration. It refuses
// paths to the fields that identify an object. It imports only the standard library.
package redact
