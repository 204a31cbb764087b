// Package crds holds the CustomResourceDefinitions of sunset.x-k8s.io, generated from policy/v1alpha1 by make generate.
//
// It promises that the API server drops nothing an administrator has written in a policy, known field or not, so that
// an unknown field can be told and never quietly means something else.
//
// It refuses to install anything.
package crds
