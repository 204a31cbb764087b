// Package v1alpha1 holds the API types of sunset.x-k8s.io/v1alpha1: what administrators write and what Sunset reports.
//
// The types carry shape, defaults and documentation, nothing else. What a policy means is the business of package policy.
//
// +kubebuilder:object:generate=true
// +groupName=sunset.x-k8s.io
package v1alpha1
