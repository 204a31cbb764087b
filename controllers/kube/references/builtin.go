// SPDX-License-Identifier: Apache-2.0

package references

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of targets.
const (
	ConfigMap Kind = "ConfigMap"
	Secret    Kind = "Secret"
)

// Declared says how objects of a kind refer to targets by name.
type Declared struct {
	From  schema.GroupVersionKind
	To    Kind
	Names string // CEL: a list of names in the object's namespace, or of maps with name and namespace
}

// BuiltIn returns the referrers of Kubernetes itself, and those of the Gateway API, which a cluster may not have. They have the
// same form as the declarations of administrators for their own kinds. The slice is the caller's.
//
// It cannot cover names that are in no object. Examples are names that a program knows, templates (a StorageClass may build the
// name of a Secret from the name of a claim), and the configuration of a controller. No object of these kinds may make all
// references unknown: an expression reads a field only if the field exists, and a reference without a namespace counts as none.
func BuiltIn() []Declared {
	var all []Declared
	for _, of := range podSpecs {
		all = append(all,
			Declared{of.kind, ConfigMap, "configMapsIn(" + of.spec + ")"},
			Declared{of.kind, Secret, "secretsIn(" + of.spec + ")"})
	}
	all = append(all, volumes()...)
	all = append(all, secrets...)
	for _, to := range []Kind{ConfigMap, Secret} {
		for _, of := range either {
			all = append(all, of.to(to))
		}
		all = append(all, parameters(to)...)
		all = append(all, owners(to)...)
	}
	return all
}

// IsBuiltIn reports whether Sunset knows the references of a kind without a declaration.
func IsBuiltIn(kind schema.GroupKind) bool {
	return slices.ContainsFunc(BuiltIn(), func(d Declared) bool { return d.From.GroupKind() == kind })
}

func kind(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

// podSpecs says where kinds have PodSpecs. Each PodSpec counts, whether its Pods run or not: a rollback needs a ReplicaSet that is
// scaled to zero or a ControllerRevision, and a suspended CronJob may be resumed.
var podSpecs = []struct {
	kind schema.GroupVersionKind
	spec string
}{
	{kind("", "v1", "Pod"), "object.?spec.orValue({})"},
	{kind("", "v1", "PodTemplate"), "object.?template.spec.orValue({})"},
	{kind("", "v1", "ReplicationController"), "object.?spec.template.spec.orValue({})"},
	{kind("apps", "v1", "ControllerRevision"), ofRevision},
	{kind("apps", "v1", "DaemonSet"), "object.?spec.template.spec.orValue({})"},
	{kind("apps", "v1", "Deployment"), "object.?spec.template.spec.orValue({})"},
	{kind("apps", "v1", "ReplicaSet"), "object.?spec.template.spec.orValue({})"},
	{kind("apps", "v1", "StatefulSet"), "object.?spec.template.spec.orValue({})"},
	{kind("batch", "v1", "CronJob"), "object.?spec.jobTemplate.spec.template.spec.orValue({})"},
	{kind("batch", "v1", "Job"), "object.?spec.template.spec.orValue({})"},
}

// ofRevision reads the PodSpec in the data of a ControllerRevision. The data can have any form; without a PodSpec it has no
// references.
const ofRevision = `(type(object.?data.orValue('')) == map && type(object.data.?spec.orValue('')) == map
	&& type(object.data.spec.?template.orValue('')) == map && type(object.data.spec.template.?spec.orValue('')) == map
	? object.data.spec.template.spec : {})`

var secrets = []Declared{
	{kind("", "v1", "ServiceAccount"), Secret,
		`object.?secrets.orValue([]).map(s, s.?name.orValue('')) + object.?imagePullSecrets.orValue([]).map(s, s.?name.orValue(''))`},
	{kind("networking.k8s.io", "v1", "Ingress"), Secret,
		`object.?spec.tls.orValue([]).map(t, t.?secretName.orValue(''))`},
}

// reference says where objects of a kind have references with a field kind. Without a kind, the reference is to a Secret.
type reference struct {
	from schema.GroupVersionKind
	list string // CEL: a list of values that contain the reference
	at   string // the path of the reference in each value, with a final dot; empty if the value is the reference
}

func (r reference) to(kind Kind) Declared {
	const names = `(%[1]s).map(r, r.?%[2]skind.orValue('Secret') == '%[3]s',
		{'name': r.?%[2]sname.orValue(''), 'namespace': r.?%[2]snamespace.orValue('')})`
	return Declared{r.from, kind, fmt.Sprintf(names, r.list, r.at, kind)}
}

const (
	gatewayGroup = "gateway.networking.k8s.io"
	ofListeners  = `object.?spec.listeners.orValue([]).map(l, l.?tls.certificateRefs.orValue([])).flatten()`
	ofGateway    = ofListeners + `
		+ object.?spec.listeners.orValue([]).map(l, l.?tls.frontendValidation.caCertificateRefs.orValue([])).flatten()
		+ object.?spec.tls.frontend.perPort.orValue([]).map(p, p.?tls.validation.caCertificateRefs.orValue([])).flatten()
		+ object.?spec.tls.frontend.default.validation.caCertificateRefs.orValue([])
		+ [object.?spec.tls.backend.clientCertificateRef, object.?spec.backendTLS.clientCertificateRef, object.?spec.infrastructure.parametersRef]`
	ofPaths        = `object.?spec.rules.orValue([]).map(r, r.?http.paths.orValue([])).flatten()`
	admissionGroup = "admissionregistration.k8s.io"
)

var either = []reference{
	{kind(gatewayGroup, "v1", "Gateway"), ofGateway, ""},
	{kind(gatewayGroup, "v1", "GatewayClass"), `[object.?spec.parametersRef]`, ""},
	{kind(gatewayGroup, "v1", "BackendTLSPolicy"), `object.?spec.validation.caCertificateRefs.orValue([])`, ""},
	{kind(gatewayGroup, "v1", "ListenerSet"), ofListeners, ""},
	{kind("gateway.networking.x-k8s.io", "v1alpha1", "XListenerSet"), ofListeners, ""},
	{kind("networking.k8s.io", "v1", "Ingress"), ofPaths, "backend.resource."},
	{kind("networking.k8s.io", "v1", "Ingress"), `[object.?spec.defaultBackend.resource]`, ""},
	{kind("networking.k8s.io", "v1", "IngressClass"), `[object.?spec.parameters]`, ""},
}

// parameters returns the references to the parameters of admission policies. The kind is in the policy, not in the binding. A
// reference without a namespace is not read: its namespace is that of each request. A reference with a selector has no name.
func parameters(to Kind) []Declared {
	const names = `object.?spec.paramRef.namespace.orValue('') == '' ? []
		: [{'name': object.?spec.paramRef.name.orValue(''), 'namespace': object.?spec.paramRef.namespace.orValue('')}]`
	return []Declared{
		{kind(admissionGroup, "v1", "ValidatingAdmissionPolicyBinding"), to, names},
		{kind(admissionGroup, "v1", "MutatingAdmissionPolicyBinding"), to, names},
	}
}

// owners returns the references of ConfigMaps and Secrets to their owners: if an owner is deleted, the garbage collector
// deletes the owned object, which may be in use. Only metadata of both kinds is read.
func owners(to Kind) []Declared {
	names := `object.metadata.?ownerReferences.orValue([])
		.map(o, o.?apiVersion.orValue('') == 'v1' && o.?kind.orValue('') == '` + string(to) + `', o.?name.orValue(''))`
	return []Declared{{kind("", "v1", "ConfigMap"), to, names}, {kind("", "v1", "Secret"), to, names}}
}
