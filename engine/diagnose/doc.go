// SPDX-License-Identifier: Apache-2.0

// Package diagnose checks CEL expressions and tells the author what to write instead.
//
// It translates the errors of cel-go, which name neither the fields of Kubernetes objects nor the notations of other
// languages, and finds expressions that cel-go accepts although they are wrong for every object. It promises one
// finding for each mistake, at the position of the mistake, and the same findings in every run.
//
// The package neither compiles nor evaluates rules. It does no I/O, and knows nothing of policies except the names of
// their variables.
package diagnose
