// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

// sign is a label or annotation that another controller writes on the objects that it manages. Sunset detects such
// controllers by this table only. Labels that people write themselves or copy to Pod templates are not signs:
// app.kubernetes.io/instance and app.kubernetes.io/managed-by are not in the table.
type sign struct {
	flag    policy.Flags
	in, key string // labels or annotations, and the key of the entry
	who     string // who manages the object, for people
	// isCopy reports whether the value refers to another object; nil if values cannot refer to objects.
	isCopy func(value string, object, metadata map[string]any) bool
}

// ErrManaged is wrapped by the error of CheckOwnerDeletion for an owner that another controller manages.
var ErrManaged = errors.New("is managed by another controller")

var signs = [...]sign{
	// Kueue, apis/kueue/v1beta2: MultiKueueOriginLabel.
	{flag: policy.OfMultiKueue, in: "labels", key: "kueue.x-k8s.io/multikueue-origin", who: "MultiKueue created it in this worker cluster"},
	// Argo CD, common: AnnotationKeyAppInstance, AnnotationKeyHook.
	{flag: policy.OfArgoCD, in: "annotations", key: "argocd.argoproj.io/tracking-id", who: "Argo CD tracks it", isCopy: isOtherTrackingID},
	{flag: policy.OfArgoCD, in: "annotations", key: "argocd.argoproj.io/hook", who: "it is a hook of Argo CD"},
	// Flux, kustomize-controller and helm-controller: the labels of all objects that they apply.
	{flag: policy.OfFlux, in: "labels", key: "kustomize.toolkit.fluxcd.io/name", who: "a Kustomization of Flux applied it"},
	{flag: policy.OfFlux, in: "labels", key: "helm.toolkit.fluxcd.io/name", who: "a HelmRelease of Flux applied it"},
	// Helm, pkg/release: HookAnnotation.
	{flag: policy.OfHelm, in: "annotations", key: "helm.sh/hook", who: "it is a Helm hook"},
}

// Manager returns which other controller manages an object, and the label or annotation that shows it, for people;
// empty if none does. The flags that policy.Flags.Manager reads state the same.
func Manager(object map[string]any) string {
	metadata := mapOf(object, "metadata")
	for i := range signs {
		if s := &signs[i]; s.isOn(object, metadata) {
			return s.who + " (" + strings.TrimSuffix(s.in, "s") + " " + s.key + ")"
		}
	}
	return ""
}

func managedFlags(object, metadata map[string]any) (flags policy.Flags) {
	for i := range signs {
		if s := &signs[i]; s.isOn(object, metadata) {
			flags |= s.flag
		}
	}
	return flags
}

func (s *sign) isOn(object, metadata map[string]any) bool {
	value, written := mapOf(metadata, s.in)[s.key]
	if !written || s.isCopy == nil {
		return written
	}
	text, _ := value.(string)
	return !s.isCopy(text, object, metadata)
}

// isOtherTrackingID reports whether a tracking id, APP:GROUP/KIND:NAMESPACE/NAME, names another object than the one
// that has it: for example, the annotations of a Deployment are copied to its ReplicaSets. It does not compare the
// group, because the API server may no longer serve the kind under it. For an object without a namespace it does not
// compare the namespace, because the id contains that of the application. An invalid id counts as the id of the object.
func isOtherTrackingID(id string, object, metadata map[string]any) bool {
	parts := strings.SplitN(id, ":", 3)
	if len(parts) < 3 {
		return false
	}
	_, kind, typed := strings.Cut(parts[1], "/")
	namespace, name, named := strings.Cut(parts[2], "/")
	if !typed || !named {
		return false
	}
	own := textOf(metadata, "namespace")
	return kind != textOf(object, "kind") || name != textOf(metadata, "name") || own != "" && namespace != own
}
