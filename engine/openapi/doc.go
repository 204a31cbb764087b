// SPDX-License-Identifier: Apache-2.0

// Package openapi turns OpenAPI schemas of Kubernetes objects into CEL types.
//
// The types are those of decoded objects, so that the type checker finds only mistakes: a part that a schema leaves open
// is dynamic. The package changes no document, and reads none from a cluster.
package openapi
