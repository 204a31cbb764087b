package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PendingApproval is what a change of configuration would delete, where that is more than approval allows.
type PendingApproval struct {
	// hash is what approves it, as the value of annotation sunset.x-k8s.io/approved.
	Hash string `json:"hash"`
	// due is how many objects would be deleted now because of the change.
	Due int64 `json:"due"`
	// week is how many objects would be deleted within 7 days at worst, those of due included: other rules and holds that
	// keep objects of new rules now are ignored. Approval compares this number.
	// +optional
	Week int64 `json:"week,omitempty"`
	// selected is how many the rules that wait select.
	Selected int64 `json:"selected"`
	// rules that could not be counted with the others of this form, and were counted later; absent means all of the policy.
	// +optional
	// +listType=atomic
	Rules []string `json:"rules,omitempty"`
	// namespaces where the policy may delete what was kept there before, "" for cluster-scoped objects; absent means that its
	// rules are new or have changed.
	// +optional
	// +listType=atomic
	Namespaces []string `json:"namespaces,omitempty"`
	// since when it applies in the namespaces, or the rules wait for approval.
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
}

// EnforcedCount is what was due of an enforced policy at a time.
type EnforcedCount struct {
	// hash of the spec that was counted, as in previews.
	Hash string `json:"hash"`
	// time of the count.
	Time metav1.Time `json:"time"`
	// due is how many objects were due then.
	// +optional
	Due int64 `json:"due,omitempty"`
	// week is how many were due within 7 days of then, those of due included.
	// +optional
	Week int64 `json:"week,omitempty"`
}

// Preview is a form of the spec whose effect has been counted.
type Preview struct {
	// hash of the spec but for mode, approval, limits and the rules' events and outcomes.
	Hash string `json:"hash"`
	// time when it was last counted completely, within an hour. For 7 days from then on the form needs no other
	// count, unless something changes that may let it delete more.
	Time metav1.Time `json:"time"`
	// due is how many objects would be deleted then. A leader that starts compares its first count with it if the policy was not
	// enforced in this form.
	// +optional
	Due int64 `json:"due,omitempty"`
	// week is how many objects would be deleted within 7 days.
	// +optional
	Week int64 `json:"week,omitempty"`
	// uncounted are the rules whose kind could not be listed then, or that read references while those were not known. They
	// are counted once they can be.
	// +optional
	// +listType=atomic
	Uncounted []string `json:"uncounted,omitempty"`
}
