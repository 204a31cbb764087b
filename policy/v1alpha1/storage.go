// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StorageStatus adds up the storage of the objects of a policy whose size is known. If several rules give the size of an object, the
// largest counts. A sum that is too large becomes the largest number.
type StorageStatus struct {
	// estimated is true if a rule of the policy computes sizes with bytes.
	// +optional
	Estimated bool `json:"estimated,omitempty"`
	// due is the storage of the objects in status.due.
	Due DueStorage `json:"due"`
	// kept is the storage of the eligible objects without a due time, for example because of a hold or keepNewest. It does not
	// include images.
	Kept Storage `json:"kept"`
	// deleted is the storage of the objects that the policy has deleted since deletedSince. A crash may lose some of it.
	Deleted Storage `json:"deleted"`
	// deletedSince is when Sunset began to add up deleted.
	// +optional
	DeletedSince *metav1.Time `json:"deletedSince,omitempty"`
	// currency of the costs; absent without prices.
	// +optional
	Currency string `json:"currency,omitempty"`
}

// DueStorage is storage by time, as DueCounts.
type DueStorage struct {
	// now is the storage of objects that are due now.
	Now Storage `json:"now"`
	// hour is the storage of objects that become due within one hour.
	Hour Storage `json:"hour"`
	// day is the storage of objects that become due within 24 hours.
	Day Storage `json:"day"`
	// week is the storage of objects that become due within seven days.
	Week Storage `json:"week"`
}

// Storage is an amount of storage.
type Storage struct {
	// bytes is the sum of sizes.
	Bytes int64 `json:"bytes"`
	// estimatedMonthlyCost is what the storage costs in a month, by the prices in the configuration of Sunset; absent without
	// prices.
	// +optional
	EstimatedMonthlyCost string `json:"estimatedMonthlyCost,omitempty"`
}
