// SPDX-License-Identifier: Apache-2.0

// Package crds contains the CustomResourceDefinitions of sunset-k8s.io, which make generate generates from
// policy/v1alpha1.
//
// It promises that the API server stores every field that an administrator writes in a policy, known or unknown. Sunset
// can then report an unknown field, and the field never changes the meaning of the policy silently.
//
// The package does not install anything.
package crds
