// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RetentionDigest sends a summary at the times of a schedule: what policies delete next, what they have deleted since the last
// digest, and what stops them. Each digest is sent at least once; the same digest may be sent again after a crash.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rdigest,categories=sunset
// +kubebuilder:printcolumn:name=Schedule,type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name=Accepted,type=date,JSONPath=`.status.acceptedTime`
// +kubebuilder:printcolumn:name=Next,type=string,priority=1,JSONPath=`.status.nextScheduleTime`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type RetentionDigest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to send, when, and to whom.
	// +required
	Spec DigestSpec `json:"spec"`
	// status is written by Sunset.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "waiting for the controller", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status DigestStatus `json:"status,omitempty"`
}

// RetentionDigestList is a list of RetentionDigests.
//
// +kubebuilder:object:root=true
type RetentionDigestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RetentionDigest `json:"items"`
}

// DigestSpec says what to send, when, and to whom.
//
// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.mail)",message="set either webhook or mail; for several receivers, create several digests"
type DigestSpec struct {
	// schedule sets when digests are sent, in the cron syntax of a CronJob: minute, hour, day of month, month and day of week. The
	// macros @hourly, @daily, @weekly, @monthly and @yearly are also possible.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ') && !self.startsWith('@every')",message="must not contain TZ or CRON_TZ (set timeZone), and must not be an interval (@every)"
	// +kubebuilder:example="0 8 * * 1-5"
	Schedule string `json:"schedule"`
	// timeZone of the schedule and of times in texts, as a name of the tz database. Absent means UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`
	// +kubebuilder:example="Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
	// ahead is the period after the digest whose deletions it announces.
	// +optional
	// +kubebuilder:default=Day
	Ahead DigestPeriod `json:"ahead,omitempty"`
	// policies limits the digest to these policies: NAME of a ClusterRetentionPolicy, or NAMESPACE/NAME of a RetentionPolicy. Absent
	// means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=317
	Policies []string `json:"policies,omitempty"`
	// namespaces limits the digest to objects in these namespaces. It then contains nothing about objects elsewhere, and nothing about
	// the RetentionPolicies of other namespaces. Absent means all namespaces, cluster-scoped objects and images.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
	// template of the text, in the syntax of the Go package text/template, instead of the built-in one. Its data are those of the
	// CloudEvent, with field names that begin with a capital letter, such as {{.Due}}.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Template string `json:"template,omitempty"`
	// suspend stops the digest. The next one covers the time since the last one.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// webhook receives the digest as an HTTP POST. A response with status 2xx accepts it.
	// +optional
	Webhook *DigestWebhook `json:"webhook,omitempty"`
	// mail sends the digest over SMTP.
	// +optional
	Mail *DigestMail `json:"mail,omitempty"`
}

// DigestPeriod is a period.
//
// +kubebuilder:validation:Enum=Hour;Day;Week
type DigestPeriod string

// The periods.
const (
	DigestHour DigestPeriod = "Hour"
	DigestDay  DigestPeriod = "Day"
	DigestWeek DigestPeriod = "Week"
)

// DigestWebhook is a receiver over HTTP. Sunset does not follow redirects, and does not connect to loopback and link-local addresses.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.urlFrom)",message="set either url or urlFrom"
type DigestWebhook struct {
	// url of the receiver. It must begin with https://, or with http:// if its host ends with .svc or .svc.cluster.local. If the url is
	// secret, as that of Slack, use urlFrom.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (url(self).getScheme() == 'https' || url(self).getScheme() == 'http' && (url(self).getHostname().endsWith('.svc') || url(self).getHostname().endsWith('.svc.cluster.local')))",message="must begin with https://, or with http:// for a Service of the cluster such as http://receiver.monitoring.svc"
	URL string `json:"url,omitempty"`
	// urlFrom reads the url from a Secret.
	// +optional
	URLFrom *SecretKey `json:"urlFrom,omitempty"`
	// format of the request: CloudEvents (version 1.0 in structured mode), Slack (an incoming webhook), Teams (a workflow that receives
	// an adaptive card), or Text, which sends the text as it is: as JSON if it is JSON.
	// +optional
	// +kubebuilder:default=CloudEvents
	Format DigestFormat `json:"format,omitempty"`
	// authorizationFrom reads the value of the Authorization header from a Secret, such as "Bearer ...".
	// +optional
	AuthorizationFrom *SecretKey `json:"authorizationFrom,omitempty"`
	// caBundle has the certificates that verify the receiver, in PEM. Absent means those of the image of Sunset.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CABundle []byte `json:"caBundle,omitempty"`
}

// DigestFormat is the format of a webhook request.
//
// +kubebuilder:validation:Enum=CloudEvents;Slack;Teams;Text
type DigestFormat string

// The formats.
const (
	DigestCloudEvents DigestFormat = "CloudEvents"
	DigestSlack       DigestFormat = "Slack"
	DigestTeams       DigestFormat = "Teams"
	DigestText        DigestFormat = "Text"
)

// DigestMail is a receiver over SMTP. The connection always uses TLS.
type DigestMail struct {
	// server is the host and port of the SMTP server. With port 465 the connection begins with TLS, otherwise with STARTTLS.
	// +required
	// +kubebuilder:validation:MaxLength=259
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.-]+:[0-9]{1,5}$`
	// +kubebuilder:example="smtp.example.com:587"
	Server string `json:"server"`
	// from is the address of the sender.
	// +required
	// +kubebuilder:validation:MaxLength=254
	// +kubebuilder:validation:Pattern=`^[^\s<>@,;:"]+@[^\s<>@,;:"]+$`
	// +kubebuilder:example="sunset@example.com"
	From string `json:"from"`
	// to lists the addresses of the recipients.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=254
	// +kubebuilder:validation:items:Pattern=`^[^\s<>@,;:"]+@[^\s<>@,;:"]+$`
	// +kubebuilder:example={"team-a@example.com"}
	To []string `json:"to"`
	// credentialsFrom names a Secret in the namespace of Sunset with the keys username and password. Absent means no authentication.
	// +optional
	CredentialsFrom *SecretName `json:"credentialsFrom,omitempty"`
	// caBundle has the certificates that verify the server, in PEM. Absent means those of the image of Sunset.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CABundle []byte `json:"caBundle,omitempty"`
}

// SecretName names a Secret in the namespace of Sunset.
type SecretName struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SecretKey names a value of a Secret in the namespace of Sunset.
type SecretKey struct {
	SecretName `json:",inline"`
	// key of the value.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// MaxDigestPolicies is the maximum number of policies whose deletions a digest counts.
const MaxDigestPolicies = 500

// DigestStatus is the state of a RetentionDigest.
type DigestStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// scheduleTime is the scheduled time of the last digest that was accepted.
	// +optional
	ScheduleTime *metav1.Time `json:"scheduleTime,omitempty"`
	// acceptedTime is when the receiver accepted it.
	// +optional
	AcceptedTime *metav1.Time `json:"acceptedTime,omitempty"`
	// nextScheduleTime is the time of the next digest.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// countedTime is when the deletions of the last accepted digest were counted. The next digest counts from there.
	// +optional
	CountedTime *metav1.Time `json:"countedTime,omitempty"`
	// counted has the deletions of policies up to countedTime.
	// +optional
	// +listType=map
	// +listMapKey=policyUID
	// +kubebuilder:validation:MaxItems=500
	Counted []DigestCount `json:"counted,omitempty"`
	// conditions: Ready is False if the spec is invalid, or if the receiver has not accepted the latest digest.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DigestCount has the deletions of one policy up to a time, in the namespaces of a digest.
type DigestCount struct {
	// policyUID is the UID of the policy.
	PolicyUID   types.UID `json:"policyUID"`
	LedgerCount `json:",inline"`
	// storage of the deleted objects.
	// +optional
	Storage *Storage `json:"storage,omitempty"`
}
