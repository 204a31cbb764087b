// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: "sunset-k8s.io", Version: "v1alpha1"}

// ClusterRetentionPolicyKind is the kind of a ClusterRetentionPolicy.
var ClusterRetentionPolicyKind = GroupVersion.WithKind("ClusterRetentionPolicy")

// RetentionPolicyKind is the kind of a RetentionPolicy.
var RetentionPolicyKind = GroupVersion.WithKind("RetentionPolicy")

// PolicyKind returns the kind of the policies of a namespace: RetentionPolicy, or ClusterRetentionPolicy if namespace is empty.
func PolicyKind(namespace string) schema.GroupVersionKind {
	if namespace == "" {
		return ClusterRetentionPolicyKind
	}
	return RetentionPolicyKind
}

// ClusterRetentionApprovalKind is the kind of a ClusterRetentionApproval.
var ClusterRetentionApprovalKind = GroupVersion.WithKind("ClusterRetentionApproval")

// RetentionApprovalKind is the kind of a RetentionApproval.
var RetentionApprovalKind = GroupVersion.WithKind("RetentionApproval")

// RetentionLedgerKind is the kind of a RetentionLedger.
var RetentionLedgerKind = GroupVersion.WithKind("RetentionLedger")

// RetentionDigestKind is the kind of a RetentionDigest.
var RetentionDigestKind = GroupVersion.WithKind("RetentionDigest")

// RetentionArchiveKind is the kind of a RetentionArchive.
var RetentionArchiveKind = GroupVersion.WithKind("RetentionArchive")

// NodeImageRulesKind is the kind of the NodeImageRules.
var NodeImageRulesKind = GroupVersion.WithKind("NodeImageRules")

// ImageKind is the kind that rules about images of nodes target. No API server serves it: agents on the nodes carry out these
// rules.
var ImageKind = schema.GroupVersionKind{Group: "node.sunset-k8s.io", Version: "v1alpha1", Kind: "Image"}

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &ClusterRetentionPolicy{}, &ClusterRetentionPolicyList{}, &RetentionPolicy{}, &RetentionPolicyList{},
		&ClusterRetentionApproval{}, &ClusterRetentionApprovalList{}, &RetentionApproval{}, &RetentionApprovalList{},
		&RetentionLedger{}, &RetentionLedgerList{}, &NodeImageRules{}, &NodeImageRulesList{}, &NodeImageReport{}, &NodeImageReportList{},
		&RetentionDigest{}, &RetentionDigestList{}, &RetentionArchive{}, &RetentionArchiveList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
