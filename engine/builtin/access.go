// SPDX-License-Identifier: Apache-2.0

package builtin

import "k8s.io/apimachinery/pkg/runtime/schema"

// ofAccess returns the references of bindings of roles and of admission policies.
func ofAccess() []Reference {
	var all []Reference
	for _, from := range []schema.GroupVersionKind{v1(rbacGroup, "RoleBinding"), v1(rbacGroup, "ClusterRoleBinding")} {
		all = append(all,
			reference{from, `[object.?roleRef]`, "", ""}.to(clusterRole),
			reference{from, `object.?subjects.orValue([])`, "", ""}.to(serviceAccount))
	}
	all = append(all, reference{v1(rbacGroup, "RoleBinding"), `[object.?roleRef]`, "", ""}.to(role))
	for _, to := range []schema.GroupKind{validating, mutating} {
		binding := v1(admissionGroup, to.Kind+"Binding")
		all = append(all, Reference{From: binding, To: to, Names: `[object.?spec.policyName.orValue('')]`},
			Reference{From: binding, To: configMap, Names: ofParameters}, Reference{From: binding, To: secret, Names: ofParameters})
	}
	return all
}

// ofParameters reads the references to the parameters of admission policies. The kind is in the policy, not in the binding. A
// reference without a namespace is not read: its namespace is that of each request. A reference with a selector has no name.
const ofParameters = `object.?spec.paramRef.namespace.orValue('') == '' ? []
		: [{'name': object.?spec.paramRef.name.orValue(''), 'namespace': object.?spec.paramRef.namespace.orValue('')}]`

// ofOthers returns the references of ConfigMaps and Secrets to their owners, and those of flow control and of devices.
func ofOthers() []Reference {
	all := []Reference{
		{From: v1(flowGroup, "FlowSchema"), To: priorityLevel, Names: `[object.?spec.priorityLevelConfiguration.name.orValue('')]`},
		{From: v1(resourceGroup, "ResourceClaim"), To: deviceClass, Names: devices("object.?spec.devices")},
		{From: v1(resourceGroup, "ResourceClaimTemplate"), To: deviceClass, Names: devices("object.?spec.spec.devices")},
	}
	for _, from := range []schema.GroupKind{configMap, secret} {
		all = append(all, owner(from, configMap), owner(from, secret))
	}
	return all
}

// owner returns the reference of ConfigMaps or Secrets to their owners: if an owner is deleted, the garbage collector deletes the
// owned object, which may be in use. Only metadata is read.
func owner(from, to schema.GroupKind) Reference {
	return Reference{From: from.WithVersion("v1"), To: to, Names: `object.metadata.?ownerReferences.orValue([])
		.map(o, o.?apiVersion.orValue('') == 'v1' && o.?kind.orValue('') == '` + to.Kind + `', o.?name.orValue(''))`}
}

// devices reads the DeviceClasses of requests, which older versions of the API name in the request itself.
func devices(at string) string {
	return at + `.requests.orValue([]).map(r, r.?exactly.deviceClassName.orValue('')) + ` + at + `.requests.orValue([]).map(r, r.?deviceClassName.orValue(''))
		+ ` + at + `.requests.orValue([]).map(r, r.?firstAvailable.orValue([])).flatten().map(s, s.?deviceClassName.orValue(''))`
}
