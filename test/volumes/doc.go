// SPDX-License-Identifier: Apache-2.0

// Package volumes is a driver of the Container Storage Interface (CSI) for tests: each volume and each snapshot is a directory.
//
// It replaces the hostpath driver of kubernetes-csi, which the Go module proxy does not have. Its clients, csi-provisioner and
// csi-snapshotter, are real; test/cluster runs them. The driver serves the identity and the controller of the interface on a Unix
// socket. It has no node service, because no kubelet runs: no Pod can mount a volume, and tests read and write the directories. A
// storage class needs the volume binding mode Immediate.
//
// The driver does not limit the size of volumes, create block devices, clone volumes or change their size. It forgets all volumes
// when it closes.
package volumes
