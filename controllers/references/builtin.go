package references

import "k8s.io/apimachinery/pkg/runtime/schema"

// The kinds that may be referred to.
const (
	ConfigMap Kind = "ConfigMap"
	Secret    Kind = "Secret"
)

// Declared says how objects of a kind refer to others by name.
type Declared struct {
	From  schema.GroupVersionKind
	To    Kind
	Names string // CEL: a list of names, of the object's namespace, or of maps with name and namespace
}

// BuiltIn are the referrers that Kubernetes has, and those of the Gateway API, which a cluster need not have. It is written
// like what administrators write for their own kinds. The slice is the caller's.
//
// What it does not have, nobody can find in an object: names that a program knows, that are templates (a StorageClass may
// build the name of a Secret from that of a claim), or that are in the configuration of a controller.
func BuiltIn() []Declared {
	var all []Declared
	for _, of := range podSpecs {
		all = append(all,
			Declared{of.kind, ConfigMap, "configMapsIn(" + of.spec + ")"},
			Declared{of.kind, Secret, "secretsIn(" + of.spec + ")"})
	}
	return append(all, others...)
}

func kind(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

// podSpecs is where kinds have PodSpecs. All of them count, whether their Pods run or not: a ReplicaSet scaled to zero and a
// ControllerRevision are what is rolled back to, and a suspended CronJob may be resumed.
var podSpecs = []struct {
	kind schema.GroupVersionKind
	spec string
}{
	{kind("", "v1", "Pod"), "object.spec"},
	{kind("", "v1", "PodTemplate"), "object.template.spec"},
	{kind("", "v1", "ReplicationController"), "object.spec.template.spec"},
	{kind("apps", "v1", "ControllerRevision"), "object.?data.spec.template.spec.orValue({})"},
	{kind("apps", "v1", "DaemonSet"), "object.spec.template.spec"},
	{kind("apps", "v1", "Deployment"), "object.spec.template.spec"},
	{kind("apps", "v1", "ReplicaSet"), "object.spec.template.spec"},
	{kind("apps", "v1", "StatefulSet"), "object.spec.template.spec"},
	{kind("batch", "v1", "CronJob"), "object.spec.jobTemplate.spec.template.spec"},
	{kind("batch", "v1", "Job"), "object.spec.template.spec"},
}

var others = []Declared{
	{kind("", "v1", "ServiceAccount"), Secret,
		`object.?secrets.orValue([]).map(s, s.?name.orValue('')) + object.?imagePullSecrets.orValue([]).map(s, s.?name.orValue(''))`},

	{kind("networking.k8s.io", "v1", "Ingress"), Secret,
		`object.?spec.tls.orValue([]).map(t, t.?secretName.orValue(''))`},

	// The CSI fields, and those of volumes from before CSI, which name the namespace too.
	{kind("", "v1", "PersistentVolume"), Secret, `
		[object.spec.?csi.controllerPublishSecretRef, object.spec.?csi.controllerExpandSecretRef, object.spec.?csi.nodeStageSecretRef,
		 object.spec.?csi.nodePublishSecretRef, object.spec.?csi.nodeExpandSecretRef,
		 object.spec.?cephfs.secretRef, object.spec.?cinder.secretRef, object.spec.?flexVolume.secretRef, object.spec.?iscsi.secretRef,
		 object.spec.?rbd.secretRef, object.spec.?scaleIO.secretRef, object.spec.?storageos.secretRef
		].filter(r, r.hasValue()).map(r, r.value())
		+ [object.spec.?azureFile].filter(a, a.hasValue())
			.map(a, {'name': a.value().?secretName.orValue(''), 'namespace': a.value().?secretNamespace.orValue(object.spec.?claimRef.namespace.orValue(''))})
		+ [{'name': object.metadata.?annotations[?'volume.kubernetes.io/provisioner-deletion-secret-name'].orValue(''),
			'namespace': object.metadata.?annotations[?'volume.kubernetes.io/provisioner-deletion-secret-namespace'].orValue('')}]`},

	// A name built from that of the claim, with ${...}, is in the PersistentVolume that came of it.
	{kind("storage.k8s.io", "v1", "StorageClass"), Secret, `
		object.?parameters.orValue({})
		.transformList(key, name, key.endsWith('secret-name') && !name.contains('$'),
			{'name': dyn(name), 'namespace': dyn(object.parameters[?key.replace('secret-name', 'secret-namespace')].orValue(''))})`},

	{kind("gateway.networking.k8s.io", "v1", "Gateway"), Secret, `
		object.spec.listeners.map(l, l.?tls.certificateRefs.orValue([])).flatten()
		.map(r, r.?kind.orValue('Secret') == 'Secret', {'name': r.name, 'namespace': r.?namespace.orValue('')})`},
}
