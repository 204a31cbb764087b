// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of sunset-k8s.io/v1alpha1, for the objects that administrators write and the status that
// Sunset reports.
//
// The types have shape, defaults and documentation, and no other behaviour. Package policy interprets them.
//
// +kubebuilder:object:generate=true
// +groupName=sunset-k8s.io
package v1alpha1
