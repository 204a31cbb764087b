// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	ofTemplate     = "object.?spec.template.spec.orValue({})"
	templateLabels = "object.?spec.template.metadata.labels.orValue({})"
)

// podSpecs says where kinds have PodSpecs, and labels of Pods. Each PodSpec counts, whether its Pods run or not: a rollback needs
// a ReplicaSet that is scaled to zero or a ControllerRevision, and a suspended CronJob may be resumed.
var podSpecs = []struct {
	kind         schema.GroupVersionKind
	spec, labels string
}{
	{v1("", "Pod"), "object.?spec.orValue({})", "object.metadata.?labels.orValue({})"},
	{v1("", "PodTemplate"), "object.?template.spec.orValue({})", "object.?template.metadata.labels.orValue({})"},
	{v1("", "ReplicationController"), ofTemplate, templateLabels},
	{v1("apps", "ControllerRevision"), ofRevision, ""},
	{v1("apps", "DaemonSet"), ofTemplate, templateLabels},
	{v1("apps", "Deployment"), ofTemplate, templateLabels},
	{v1("apps", "ReplicaSet"), ofTemplate, templateLabels},
	{v1("apps", "StatefulSet"), ofTemplate, templateLabels},
	{v1("batch", "CronJob"), "object.?spec.jobTemplate.spec.template.spec.orValue({})", "object.?spec.jobTemplate.spec.template.metadata.labels.orValue({})"},
	{v1("batch", "Job"), ofTemplate, templateLabels},
}

// ofRevision reads the PodSpec in the data of a ControllerRevision. The data can have any form; without a PodSpec it has no
// references.
const ofRevision = `(type(object.?data.orValue('')) == map && type(object.data.?spec.orValue('')) == map
	&& type(object.data.spec.?template.orValue('')) == map && type(object.data.spec.template.?spec.orValue('')) == map
	? object.data.spec.template.spec : {})`

// inPodSpecs has the references of a PodSpec, which replaces SPEC.
var inPodSpecs = []struct {
	to    schema.GroupKind
	names string
}{
	{configMap, "configMapsIn(SPEC)"},
	{secret, "secretsIn(SPEC)"},
	{secret, ofInline},
	// A PodSpec without a ServiceAccount uses the default one.
	{serviceAccount, `[optional.ofNonZeroValue(SPEC.?serviceAccountName.orValue('')).or(optional.ofNonZeroValue(SPEC.?serviceAccount.orValue(''))).orValue('default')]`},
	{claim, `SPEC.?volumes.orValue([]).map(v, v.?persistentVolumeClaim.claimName.orValue(''))`},
	{storageClass, `SPEC.?volumes.orValue([]).map(v, v.?ephemeral.volumeClaimTemplate.spec.storageClassName.orValue(''))`},
	{priorityClass, `[SPEC.?priorityClassName.orValue('')]`},
	{runtimeClass, `[SPEC.?runtimeClassName.orValue('')]`},
	{resourceClaim, `SPEC.?resourceClaims.orValue([]).map(c, c.?resourceClaimName.orValue(''))`},
	{claimTemplate, `SPEC.?resourceClaims.orValue([]).map(c, c.?resourceClaimTemplateName.orValue(''))`},
}

// ofInline reads the attributes of inline volumes whose drivers read a Secret themselves.
const ofInline = `SPEC.?volumes.orValue([]).map(v, v.?csi.volumeAttributes.secretName.hasValue(),
	{'name': v.csi.volumeAttributes.secretName, 'namespace': v.?csi.volumeAttributes.secretNamespace.orValue('')})`

func ofPods() []Reference {
	pod := v1("", "Pod")
	all := []Reference{
		{From: pod, To: claim, Names: `object.?spec.volumes.orValue([]).map(v, has(v.ephemeral), object.metadata.name + '-' + v.name)`},
		{From: pod, To: node, Names: `[object.?spec.nodeName.orValue('')]`},
		{From: pod, To: resourceClaim, Names: `object.?status.resourceClaimStatuses.orValue([]).map(c, c.?resourceClaimName.orValue(''))`},
		{From: v1("", "ServiceAccount"), To: secret,
			Names: `object.?secrets.orValue([]).map(s, s.?name.orValue('')) + object.?imagePullSecrets.orValue([]).map(s, s.?name.orValue(''))`},
		// A program outside of the cluster may use the token.
		{From: v1("", "Secret"), To: serviceAccount, Names: `[object.metadata.?annotations[?'kubernetes.io/service-account.name'].orValue('')]`},
		{From: v1("apps", "StatefulSet"), To: service, Names: `[object.?spec.serviceName.orValue('')]`},
		{From: v1("apps", "StatefulSet"), To: storageClass, Names: `object.?spec.volumeClaimTemplates.orValue([]).map(t, t.?spec.storageClassName.orValue(''))`},
	}
	for _, of := range podSpecs {
		for _, in := range inPodSpecs {
			all = append(all, Reference{From: of.kind, To: in.to, Names: strings.ReplaceAll(in.names, "SPEC", of.spec)})
		}
	}
	return append(all, ofScaling()...)
}

// ofScaling returns the references of HorizontalPodAutoscalers to the kinds of Kubernetes that they can scale.
func ofScaling() (all []Reference) {
	for _, to := range []schema.GroupKind{core("ReplicationController"), {Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "apps", Kind: "StatefulSet"}} {
		ofGroup := "== 'v1'"
		if to.Group != "" {
			ofGroup = ".startsWith('" + to.Group + "/')"
		}
		all = append(all, Reference{From: schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, To: to,
			Names: `object.?spec.scaleTargetRef.kind.orValue('') == '` + to.Kind + `' && object.?spec.scaleTargetRef.apiVersion.orValue('')` + ofGroup + `
				? [object.?spec.scaleTargetRef.name.orValue('')] : []`})
	}
	return all
}
