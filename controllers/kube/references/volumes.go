package references

import "strings"

// volumes are the Secrets of volumes, outside of what every PodSpec says in its own namespace.
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

// ofInline are the attributes that drivers read which look for a Secret themselves.
const ofInline = `SPEC.?volumes.orValue([]).map(v, v.?csi.volumeAttributes.secretName.hasValue(),
	{'name': v.csi.volumeAttributes.secretName, 'namespace': v.?csi.volumeAttributes.secretNamespace.orValue('')})`

// ofVolume are the CSI fields, attributes of drivers that look for a Secret themselves, and the fields of volumes from before
// CSI. A namespace that is missing, or null as in azureFile, is that of the claim. Without a claim nobody reads the Secret.
const ofVolume = `
	[SPEC.csi.controllerPublishSecretRef, SPEC.csi.controllerExpandSecretRef, SPEC.csi.nodeStageSecretRef,
	 SPEC.csi.nodePublishSecretRef, SPEC.csi.nodeExpandSecretRef,
	 SPEC.cephfs.secretRef, SPEC.cinder.secretRef, SPEC.flexVolume.secretRef, SPEC.iscsi.secretRef,
	 SPEC.rbd.secretRef, SPEC.scaleIO.secretRef, SPEC.storageos.secretRef
	].map(r, {'name': r.?name.orValue(''),
		'namespace': optional.ofNonZeroValue(r.?namespace.orValue('')).or(SPEC.claimRef.namespace).orValue('')})
	+ [SPEC.azureFile, SPEC.csi.volumeAttributes].map(r, {'name': r.?secretName.orValue(''),
		'namespace': optional.ofNonZeroValue(r.?secretNamespace.orValue('')).or(SPEC.claimRef.namespace).orValue('')})`

// ofProvisioner is what the external provisioner notes for the deletion.
const ofProvisioner = `
	+ [{'name': object.metadata.?annotations[?'volume.kubernetes.io/provisioner-deletion-secret-name'].orValue(''),
		'namespace': object.metadata.?annotations[?'volume.kubernetes.io/provisioner-deletion-secret-namespace'].orValue('')}]`

// ofStorageClass are the parameters that name a Secret, as CSI writes them (provisioner-secret-name) or drivers do
// (adminSecretName), each beside one for the namespace. What is built with ${...} can be no name: the name of a Secret that was
// built from that of a claim is in the PersistentVolume that came of it.
const ofStorageClass = `
	object.?parameters.orValue({})
	.transformList(key, name, key.lowerAscii().endsWith('secretname') || key.lowerAscii().endsWith('secret-name'),
		{'name': dyn(name), 'namespace': dyn(object.parameters
			.transformList(k, value, k.lowerAscii() == key.lowerAscii() + 'space', value)[?0].orValue(''))})`
