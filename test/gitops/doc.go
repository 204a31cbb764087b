// SPDX-License-Identifier: Apache-2.0

// Package gitops tests the health checks for Argo CD and Flux on docs/tasks/use-gitops.md. The interpreters of both are in a module
// of their own in folder health, so that programs that import Sunset do not depend on them.
package gitops
