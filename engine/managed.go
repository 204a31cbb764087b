package engine

import (
	"errors"
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

// sign is what another controller writes in the metadata of what it manages. This table is all that Sunset knows of such
// controllers. A label that people write themselves, or copy to Pod templates, is no sign: app.kubernetes.io/instance and
// app.kubernetes.io/managed-by are not here.
type sign struct {
	flag    policy.Flags
	in, key string // labels or annotations, and the name of the entry
	who     string // manages the object, for people
	// isCopy reports whether a value says of itself that it is about another object; nil where a value cannot say so.
	isCopy func(value string, object, metadata map[string]any) bool
}

// ErrManaged is wrapped by the error of MayGo about an owner that another controller manages.
var ErrManaged = errors.New("is managed by another controller")

var signs = [...]sign{
	// Kueue, apis/kueue/v1beta2: MultiKueueOriginLabel.
	{flag: policy.OfMultiKueue, in: "labels", key: "kueue.x-k8s.io/multikueue-origin", who: "MultiKueue created it in this worker cluster"},
	// Argo CD, common: AnnotationKeyAppInstance, AnnotationKeyHook.
	{flag: policy.OfArgoCD, in: "annotations", key: "argocd.argoproj.io/tracking-id", who: "Argo CD tracks it", isCopy: isOtherTrackingID},
	{flag: policy.OfArgoCD, in: "annotations", key: "argocd.argoproj.io/hook", who: "it is a hook of Argo CD"},
	// Flux, kustomize-controller and helm-controller: what they label all that they apply with.
	{flag: policy.OfFlux, in: "labels", key: "kustomize.toolkit.fluxcd.io/name", who: "a Kustomization of Flux applied it"},
	{flag: policy.OfFlux, in: "labels", key: "helm.toolkit.fluxcd.io/name", who: "a HelmRelease of Flux applied it"},
	// Helm, pkg/release: HookAnnotation.
	{flag: policy.OfHelm, in: "annotations", key: "helm.sh/hook", who: "it is a Helm hook"},
}

// Manager says which other controller manages an object, and by which label or annotation, for people; empty when none does.
// It is what policy.Flags.Manager says in flags.
func Manager(object map[string]any) string {
	metadata := mapOf(object, "metadata")
	for i := range signs {
		if s := &signs[i]; s.isOn(object, metadata) {
			return s.who + ", by " + strings.TrimSuffix(s.in, "s") + " " + s.key
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

// isOtherTrackingID reports whether a tracking id, APP:GROUP/KIND:NAMESPACE/NAME, names another object than the one that
// carries it: a Deployment's annotations, for one, are copied to its ReplicaSets. The group may be one under which the API
// server no longer serves the kind, and of an object in no namespace the id has that of the application: neither is
// compared. An id that cannot be read counts.
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
