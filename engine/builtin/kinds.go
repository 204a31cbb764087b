// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
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
	configMap, secret, serviceAccount, service = core("ConfigMap"), core("Secret"), core("ServiceAccount"), core("Service")
	claim, volume, node                        = core("PersistentVolumeClaim"), core("PersistentVolume"), core("Node")

	storageClass, attributes     = of(storageGroup, "StorageClass"), of(storageGroup, "VolumeAttributesClass")
	priorityClass, runtimeClass  = of("scheduling.k8s.io", "PriorityClass"), of("node.k8s.io", "RuntimeClass")
	ingressClass                 = of(networkGroup, "IngressClass")
	gateway, gatewayClass        = of(gatewayGroup, "Gateway"), of(gatewayGroup, "GatewayClass")
	role, clusterRole            = of(rbacGroup, "Role"), of(rbacGroup, "ClusterRole")
	validating, mutating         = of(admissionGroup, "ValidatingAdmissionPolicy"), of(admissionGroup, "MutatingAdmissionPolicy")
	priorityLevel, deviceClass   = of(flowGroup, "PriorityLevelConfiguration"), of(resourceGroup, "DeviceClass")
	resourceClaim, claimTemplate = of(resourceGroup, "ResourceClaim"), of(resourceGroup, "ResourceClaimTemplate")
)

// ClusterScoped are the kinds of Referred whose objects have no namespace. Callers must not change it.
var ClusterScoped = sets.New(volume, node, storageClass, attributes, priorityClass, runtimeClass, ingressClass, gatewayClass, clusterRole,
	validating, mutating, priorityLevel, deviceClass)

func core(name string) schema.GroupKind { return schema.GroupKind{Kind: name} }

func of(group, name string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: name} }
