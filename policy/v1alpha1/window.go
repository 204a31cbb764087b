// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Window is a time that recurs. Sunset deletes objects only while a window of the policy is open.
type Window struct {
	// schedule sets when the window opens, in the cron syntax of a CronJob: minute, hour, day of month, month and day of week.
	// The macros @hourly, @daily, @weekly, @monthly and @yearly are also possible.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ') && !self.startsWith('@every')",message="must not contain TZ or CRON_TZ (set timeZone), and must not be an interval (@every)"
	// +kubebuilder:example="0 22 * * 1-5"
	Schedule string `json:"schedule"`
	// duration is how long the window stays open, from one minute to 366 days, in Go units plus d and w. It is elapsed time, so a window
	// that contains the end of daylight saving time closes an hour earlier by the clock.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="8h"
	Duration string `json:"duration"`
	// timeZone of the schedule, as a name of the tz database. Absent means UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`
	// +kubebuilder:example="Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`
}

// Freeze is a time in which Sunset deletes no objects.
//
// +kubebuilder:validation:XValidation:rule="self.from < self.to",message="to must be later than from"
type Freeze struct {
	// from is when the freeze begins.
	// +required
	// +kubebuilder:example="2026-12-19T00:00:00Z"
	From metav1.Time `json:"from"`
	// to is when the freeze ends.
	// +required
	// +kubebuilder:example="2027-01-04T08:00:00Z"
	To metav1.Time `json:"to"`
	// reason is shown to users whose objects wait.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:example="year-end closing"
	Reason string `json:"reason,omitempty"`
	// allPolicies extends the freeze to the rules of all policies, in the namespaces where this policy applies. A freeze of a
	// ClusterRetentionPolicy also extends to cluster-scoped objects and images; one of a RetentionPolicy does not extend to
	// rules with overrideBounds.allowSuspend: false. The mode of this policy has no effect on such a freeze.
	// +optional
	AllPolicies bool `json:"allPolicies,omitempty"`
}
