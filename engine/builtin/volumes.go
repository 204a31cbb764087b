// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ofVolumes returns the references of volumes, of claims, and of their classes.
func ofVolumes() []Reference {
	volumes, claims, attachments, classes := v1("", "PersistentVolume"), v1("", "PersistentVolumeClaim"), v1(storageGroup, "VolumeAttachment"), v1(storageGroup, "StorageClass")
	all := []Reference{
		{From: volumes, To: secret, Names: strings.ReplaceAll(ofVolume, "SPEC", "object.?spec") + ofProvisioner},
		{From: attachments, To: secret, Names: strings.ReplaceAll(ofVolume, "SPEC", "object.?spec.source.inlineVolumeSpec")},
		{From: attachments, To: volume, Names: `[object.?spec.source.persistentVolumeName.orValue('')]`},
		{From: attachments, To: node, Names: `[object.?spec.nodeName.orValue('')]`},
		{From: classes, To: secret, Names: ofStorageClass},
		{From: claims, To: volume, Names: `[object.?spec.volumeName.orValue('')]`},
		reference{claims, `[object.?spec.dataSource, object.?spec.dataSourceRef]`, "", ""}.to(claim),
		{From: v1("snapshot.storage.k8s.io", "VolumeSnapshot"), To: claim, Names: `[object.?spec.source.persistentVolumeClaimName.orValue('')]`},
	}
	for _, from := range []schema.GroupVersionKind{volumes, claims} {
		all = append(all,
			Reference{From: from, To: storageClass, Names: `[object.?spec.storageClassName.orValue(''), object.metadata.?annotations[?'volume.beta.kubernetes.io/storage-class'].orValue('')]`},
			Reference{From: from, To: attributes, Names: `[object.?spec.volumeAttributesClassName.orValue('')]`})
	}
	return all
}

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
