// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RetentionArchive is a place outside of the cluster where rules archive objects before they delete them: a bucket of an object
// store, or a directory.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rarchive,categories=sunset
// +kubebuilder:printcolumn:name=URL,type=string,priority=1,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name=Records,type=integer,JSONPath=`.status.records`
// +kubebuilder:printcolumn:name=Bytes,type=integer,JSONPath=`.status.bytes`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type RetentionArchive struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where records are stored, and how.
	// +required
	Spec ArchiveSpec `json:"spec"`
	// status is written by Sunset.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "waiting for the controller", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status ArchiveStatus `json:"status,omitempty"`
}

// RetentionArchiveList is a list of RetentionArchives.
//
// +kubebuilder:object:root=true
type RetentionArchiveList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RetentionArchive `json:"items"`
}

// ArchiveSpec says where records are stored, and how.
type ArchiveSpec struct {
	// url of the bucket, with an optional prefix: s3://BUCKET/PREFIX?region=REGION, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX or
	// file:///DIRECTORY. It cannot be changed: create another RetentionArchive, and let rules archive to that. Two clusters must not
	// share a prefix.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^(s3|gs|azblob|file)://\S*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="url cannot be changed: create another RetentionArchive"
	// +kubebuilder:example="s3://backups/cluster-1?region=eu-central-1"
	URL string `json:"url"`

	// encryption encrypts everything in the archive. Absent means that the archive is not encrypted; rules about Secrets then cannot
	// use it.
	// +optional
	Encryption *ArchiveEncryption `json:"encryption,omitempty"`

	// credentials names a Secret with the credentials for the store: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and optionally
	// AWS_SESSION_TOKEN for s3, GOOGLE_APPLICATION_CREDENTIALS (the content of a key file) for gs, AZURE_STORAGE_ACCOUNT with
	// AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN for azblob. Absent means the identity of the Pod of Sunset (workload identity).
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`

	// retain is how long records stay in the archive after they were written, in Go units plus d (24h) and w (7d), such as "90d".
	// Sunset then deletes them. It must be 1d or more: otherwise rules cannot archive here. Absent means that Sunset never deletes
	// them; lifecycle rules of the store may.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(([0-9]+[.]?[0-9]*|[.][0-9]+)(s|m|h|d|w))+$`
	// +kubebuilder:example="90d"
	Retain string `json:"retain,omitempty"`

	// legalHolds lists prefixes of the names of objects in the bucket, after the prefix of url, such as "segments/2026/11/". Sunset
	// deletes nothing whose name begins with one of them. "" holds everything. A prefix with which no name can begin is invalid.
	// The result of a deletion without a definite answer can be in a segment of one of the next seven days; hold these days too.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=512
	LegalHolds []string `json:"legalHolds,omitempty"`

	// allowNamespaces selects the namespaces whose RetentionPolicies may archive here, by label. Absent means none; {} means all.
	// ClusterRetentionPolicies always may.
	// +optional
	AllowNamespaces *metav1.LabelSelector `json:"allowNamespaces,omitempty"`
}

// ArchiveEncryption encrypts an archive with age (https://age-encryption.org), so that only the holders of the private keys can read
// it. Sunset itself cannot.
type ArchiveEncryption struct {
	// recipients lists the public keys (age1...). Each of their private keys can decrypt the archive.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:items:Pattern=`^age1[a-z0-9]+$`
	// +kubebuilder:example={"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}
	Recipients []string `json:"recipients"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// namespace of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Conditions of a RetentionArchive.
const (
	// ArchiveWritable is True if Sunset can write an object to the store.
	ArchiveWritable = "Writable"
	// ArchiveReadable is True if it can read back and verify what it has written.
	ArchiveReadable = "Readable"
	// ArchiveDeletable is True if it can delete from the store. Only retain needs it.
	ArchiveDeletable = "Deletable"
	// ArchiveReady is True if rules can archive here: the spec is valid, and the archive is writable and readable.
	ArchiveReady = "Ready"
)

// ArchiveStatus is the state of a RetentionArchive.
type ArchiveStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// records is how many records Sunset has written. It includes those that it has deleted by retain.
	// +optional
	Records int64 `json:"records,omitempty"`
	// bytes is how much storage these records occupy.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// lastRecordTime is when the last record was verified.
	// +optional
	LastRecordTime *metav1.Time `json:"lastRecordTime,omitempty"`
	// conditions: Writable, Readable and Deletable say what Sunset can do in the store. Ready is True if rules can archive here, and
	// False with the reason if they cannot; their objects are then kept.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ArchiveRule says where a rule archives what it deletes, and what a record includes.
type ArchiveRule struct {
	// to is the name of a RetentionArchive. Sunset deletes an object only after a verified record of exactly this version is in the
	// archive. If it cannot be written, Sunset keeps the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	To string `json:"to"`
	// dependents lists kinds of dependents that garbage collection deletes along with the object and that the record includes, as
	// Kind or Kind.group: Pod, Job.batch. The rule must delete with propagationPolicy Background or Foreground.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^[^\s./]+(\.[^\s/]+)?$`
	// +kubebuilder:example={"Pod"}
	Dependents []string `json:"dependents,omitempty"`
	// events includes the Events about the object.
	// +optional
	Events bool `json:"events,omitempty"`
	// logs includes the logs of the containers of Pods: of the object if it is a Pod, or of its dependents if dependents lists Pod.
	// +optional
	Logs *ArchiveRuleLogs `json:"logs,omitempty"`
	// redact lists paths of fields whose values are not archived, such as spec.template.spec.containers[*].env[*].value. They apply
	// to the object and to its dependents.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:example={"spec.template.spec.containers[*].env[*].value"}
	Redact []string `json:"redact,omitempty"`
}

// ArchiveRuleLogs says which logs a record includes.
type ArchiveRuleLogs struct {
	// tailBytes is how much of the log of each container the record includes, from the end, such as 1Mi; at most 16Mi.
	// +required
	// +kubebuilder:example="1Mi"
	TailBytes resource.Quantity `json:"tailBytes"`
	// required keeps the object if a log cannot be read. Otherwise the record says why the log is missing.
	// +optional
	Required bool `json:"required,omitempty"`
}
