// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	admissionGroup = "admissionregistration.k8s.io"
	flowGroup      = "flowcontrol.apiserver.k8s.io"
	gatewayGroup   = "gateway.networking.k8s.io"
	networkGroup   = "networking.k8s.io"
	rbacGroup      = "rbac.authorization.k8s.io"
	resourceGroup  = "resource.k8s.io"
	storageGroup   = "storage.k8s.io"
)

// The kinds that others refer to.
var (
	configMap      = core("ConfigMap")
	secret         = core("Secret")
	serviceAccount = core("ServiceAccount")
	service        = core("Service")
	claim          = core("PersistentVolumeClaim")
	volume         = core("PersistentVolume")
	node           = core("Node")
	storageClass   = schema.GroupKind{Group: storageGroup, Kind: "StorageClass"}
	attributes     = schema.GroupKind{Group: storageGroup, Kind: "VolumeAttributesClass"}
	priorityClass  = schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"}
	runtimeClass   = schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"}
	ingressClass   = schema.GroupKind{Group: networkGroup, Kind: "IngressClass"}
	gateway        = schema.GroupKind{Group: gatewayGroup, Kind: "Gateway"}
	gatewayClass   = schema.GroupKind{Group: gatewayGroup, Kind: "GatewayClass"}
	role           = schema.GroupKind{Group: rbacGroup, Kind: "Role"}
	clusterRole    = schema.GroupKind{Group: rbacGroup, Kind: "ClusterRole"}
	validating     = schema.GroupKind{Group: admissionGroup, Kind: "ValidatingAdmissionPolicy"}
	mutating       = schema.GroupKind{Group: admissionGroup, Kind: "MutatingAdmissionPolicy"}
	priorityLevel  = schema.GroupKind{Group: flowGroup, Kind: "PriorityLevelConfiguration"}
	deviceClass    = schema.GroupKind{Group: resourceGroup, Kind: "DeviceClass"}
	resourceClaim  = schema.GroupKind{Group: resourceGroup, Kind: "ResourceClaim"}
	claimTemplate  = schema.GroupKind{Group: resourceGroup, Kind: "ResourceClaimTemplate"}
)

var clusterScoped = func() map[schema.GroupKind]bool {
	all := map[schema.GroupKind]bool{}
	for _, kind := range []schema.GroupKind{
		volume, node, storageClass, attributes, priorityClass, runtimeClass, ingressClass, gatewayClass, clusterRole, validating, mutating,
		priorityLevel, deviceClass,
	} {
		all[kind] = true
	}
	return all
}()

func core(name string) schema.GroupKind { return schema.GroupKind{Kind: name} }

func sorted(kinds map[schema.GroupKind]bool) []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
}
