package references

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
// build the name of a Secret from that of a claim), or that are in the configuration of a controller. No object of these kinds
// may put everything in doubt, so a field is read where it is, and what a namespace is missing for names nothing.
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

// IsBuiltIn reports whether Sunset knows by itself what objects of a kind refer to.
func IsBuiltIn(kind schema.GroupKind) bool {
	return slices.ContainsFunc(BuiltIn(), func(d Declared) bool { return d.From.GroupKind() == kind })
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

// ofRevision is the PodSpec in a ControllerRevision. Its data may be anything: what has no PodSpec there refers to nothing.
const ofRevision = `(type(object.?data.orValue('')) == map && type(object.data.?spec.orValue('')) == map
	&& type(object.data.spec.?template.orValue('')) == map && type(object.data.spec.template.?spec.orValue('')) == map
	? object.data.spec.template.spec : {})`

var secrets = []Declared{
	{kind("", "v1", "ServiceAccount"), Secret,
		`object.?secrets.orValue([]).map(s, s.?name.orValue('')) + object.?imagePullSecrets.orValue([]).map(s, s.?name.orValue(''))`},
	{kind("networking.k8s.io", "v1", "Ingress"), Secret,
		`object.?spec.tls.orValue([]).map(t, t.?secretName.orValue(''))`},
}

// reference is where objects of a kind say what they refer to in an object that has a kind itself, or means a Secret.
type reference struct {
	from schema.GroupVersionKind
	list string // CEL: of what has the reference
	at   string // where in it, with a dot; empty for the thing itself
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

// parameters are those of admission policies, of a kind that the policy says and not the binding. Without a namespace it is
// that of each request, and with a selector there is no name.
func parameters(to Kind) []Declared {
	const names = `object.?spec.paramRef.namespace.orValue('') == '' ? []
		: [{'name': object.?spec.paramRef.name.orValue(''), 'namespace': object.?spec.paramRef.namespace.orValue('')}]`
	return []Declared{
		{kind(admissionGroup, "v1", "ValidatingAdmissionPolicyBinding"), to, names},
		{kind(admissionGroup, "v1", "MutatingAdmissionPolicyBinding"), to, names},
	}
}

// owners are ConfigMaps and Secrets that own others: the garbage collector takes these along, which may be in use. Of both
// nothing but metadata is read.
func owners(to Kind) []Declared {
	names := `object.metadata.?ownerReferences.orValue([])
		.map(o, o.?apiVersion.orValue('') == 'v1' && o.?kind.orValue('') == '` + string(to) + `', o.?name.orValue(''))`
	return []Declared{{kind("", "v1", "ConfigMap"), to, names}, {kind("", "v1", "Secret"), to, names}}
}
