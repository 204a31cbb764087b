// SPDX-License-Identifier: Apache-2.0

package references

import "strings"

// volumes returns the references of volumes to Secrets, except the references of a PodSpec to its own namespace that secretsIn
// reads.
func volumes() []Declared {
	all := []Declared{
		{kind("", "v1", "PersistentVolume"), Secret, strings.ReplaceAll(ofVolume, "SPEC", "object.?spec") + ofProvisioner},
		{kind("storage.k8s.io", "v1", "VolumeAttachment"), Secret, strings.ReplaceAll(ofVolume, "SPEC", "object.?spec.source.inlineVolumeSpec")},
		{kind("storage.k8s.io", "v1", "StorageClass"), Secret, ofStorageClass},
	}
	for _, of := range podSpecs {
		all = append(all, Declared{of.kind, Secret, strings.ReplaceAll(ofInline, "SPEC", of.spec)})
	}
	return all
}

// ofInline reads the attributes of inline volumes whose drivers read a Secret themselves.
const ofInline = `SPEC.?volumes.orValue([]).map(v, v.?csi.volumeAttributes.secretName.hasValue(),
	{'name': v.csi.volumeAttributes.secretName, 'namespace': v.?csi.volumeAttributes.secretNamespace.orValue('')})`

// ofVolume reads the CSI fields, the attributes of drivers that read a Secret themselves, and the fields of volume types that
// are older than CSI. If a namespace is missing, or null as in azureFile, it is that of the claim. Without a claim, no driver
// reads the Secret.
const ofVolume = `
	[SPEC.csi.controllerPublishSecretRef, SPEC.csi.controllerExpandSecretRef, SPEC.csi.nodeStageSecretRef,
	 SPEC.csi.nodePublishSecretRef, SPEC.csi.nodeExpandSecretRef,
	 SPEC.cephfs.secretRef, SPEC.cinder.secretRef, SPEC.flexVolume.secretRef, SPEC.iscsi.secretRef,
	 SPEC.rbd.secretRef, SPEC.scaleIO.secretRef, SPEC.storageos.secretRef
	].map(r, {'name': r.?name.orValue(''),
		'namespace': optional.ofNonZeroValue(r.?namespace.orValue('')).or(SPEC.claimRef.namespace).orValue('')})
	+ [SPEC.azureFile, SPEC.csi.volumeAttributes].map(r, {'name': r.?secretName.orValue(''),
		'namespace': optional.ofNonZeroValue(r.?secretNamespace.orValue('')).or(SPEC.claimRef.namespace).orValue('')})`

// ofProvisioner reads the annotations in which the external provisioner records the Secret for the deletion.
const ofProvisioner = `
	+ [{'name': object.metadata.?annotations[?'volume.kubernetes.io/provisioner-deletion-secret-name'].orValue(''),
		'namespace': object.metadata.?annotations[?'volume.kubernetes.io/provisioner-deletion-secret-namespace'].orValue('')}]`

// ofStorageClass reads the parameters that name a Secret, in the form of CSI (provisioner-secret-name) or of drivers
// (adminSecretName), each with the parameter for its namespace. A value with ${...} cannot be a name: the provisioned
// PersistentVolume has the name that was built from it.
const ofStorageClass = `
	object.?parameters.orValue({})
	.transformList(key, name, key.lowerAscii().endsWith('secretname') || key.lowerAscii().endsWith('secret-name'),
		{'name': dyn(name), 'namespace': dyn(object.parameters
			.transformList(k, value, k.lowerAscii() == key.lowerAscii() + 'space', value)[?0].orValue(''))})`
