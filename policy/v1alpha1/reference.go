package v1alpha1

// Reference says how the objects of one kind refer to ConfigMaps or Secrets by name.
type Reference struct {
	// from is the kind of object that refers.
	// +required
	From Referrer `json:"from"`

	// to is the kind of object that is referred to: ConfigMap or Secret.
	// +required
	To Referred `json:"to"`

	// names is CEL -> list: the names that an object of from refers to. It sees object, and not the variables of the policy.
	// An element is a string, the name of something in the object's own namespace, or a map with name and namespace; an
	// empty name refers to nothing. Of a Secret that refers to others it can read metadata only. An error keeps everything
	// of kind to from rules that read references, until the object changes or goes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Names string `json:"names"`
}

// Referrer is a kind of object that refers to others. Sunset lists and watches it, and needs the rights to.
type Referrer struct {
	// apiVersion of the kind, such as cert-manager.io/v1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind in CamelCase, such as Certificate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// Referred is a kind of object whose references are followed.
//
// +kubebuilder:validation:Enum=ConfigMap;Secret
type Referred string

const (
	// ReferredConfigMap is v1 ConfigMap.
	ReferredConfigMap Referred = "ConfigMap"
	// ReferredSecret is v1 Secret.
	ReferredSecret Referred = "Secret"
)
