// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reference declares how the objects of one kind refer to objects of another kind: by name, or by a label selector.
type Reference struct {
	// from is the kind of the referring objects.
	// +required
	From Referrer `json:"from"`

	// to is the kind that they refer to, as Kind or Kind.group: Secret, Deployment.apps, Widget.example.com.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^[^\s./]+(\.[^\s/]+)?$`
	// +kubebuilder:example="Secret"
	To Referred `json:"to"`

	// names is CEL -> list: the names that an object of the kind from refers to. It can read object, but not the variables of
	// the policy. An element is a string, which is a name in the namespace of the object, or a map with name and namespace.
	// Sunset ignores an empty name. If from is Secret, it can read only metadata. If it fails on an object, rules about the
	// kind to that read references, and rules about the kind from that read targets, keep all their objects, until this object
	// changes or is deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="[object.spec.secretName]"
	Names string `json:"names,omitempty"`

	// selector is CEL -> LabelSelector for objects in the namespace of the object, or null to select nothing; instead of names.
	// It can read the same as names. Rules about the kind from can then read selected. If it fails on an object, these rules keep
	// all their objects, until this object changes or is deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="object.spec.selector"
	Selector string `json:"selector,omitempty"`
}

// Referrer is a kind of objects that refer to others or select them. Sunset needs the permissions to list and watch it.
type Referrer struct {
	// apiVersion of the kind, such as cert-manager.io/v1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([^/ ]+/)?[^/ ]+$`
	// +kubebuilder:example="cert-manager.io/v1"
	APIVersion string `json:"apiVersion"`
	// kind in CamelCase, such as Certificate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +kubebuilder:example="Certificate"
	Kind string `json:"kind"`
}

// Referred is the kind of the objects that others refer to or select, as Kind or Kind.group. It may be any kind.
type Referred string
