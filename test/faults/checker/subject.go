// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// seen returns an object as expressions see it.
func seen(s *history.State) map[string]any {
	o := s.DeepCopy().Object
	metadata := mapIn(o, "metadata")
	delete(metadata, "managedFields")
	delete(mapIn(metadata, "annotations"), lastApplied)
	if isKind(s, "v1", "Secret") {
		return map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": metadata}
	}
	return o
}

func isKind(s *history.State, version, kind string) bool {
	return s.GetAPIVersion() == version && s.GetKind() == kind
}

func created(s *history.State) time.Time { return s.GetCreationTimestamp().Time }

func isTerminating(s *history.State) bool { return s.GetDeletionTimestamp() != nil }

func hasHold(s *history.State) bool {
	value, ok := s.GetAnnotations()[v1alpha1.HoldAnnotation]
	return ok && value != "false"
}

// isHeld reports whether an object is kept regardless of rules. byOwner is true for a rule that deletes owners.
func isHeld(s *history.State, byOwner bool) bool {
	return hasHold(s) || isNeeded(s) || !byOwner && isMaterial(s) && controllerIn(s.Object) != nil
}

// isManaged reports whether another controller claims the object in its metadata.
func isManaged(s *history.State) bool {
	for _, label := range []string{"kueue.x-k8s.io/multikueue-origin", "kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"} {
		if _, ok := s.GetLabels()[label]; ok {
			return true
		}
	}
	for _, hook := range []string{"argocd.argoproj.io/hook", "helm.sh/hook"} {
		if _, ok := s.GetAnnotations()[hook]; ok {
			return true
		}
	}
	id, tracked := s.GetAnnotations()["argocd.argoproj.io/tracking-id"]
	at := regexp.MustCompile(`^[^:]*:[^/:]*/([^:]*):([^/]*)/(.*)$`).FindStringSubmatch(id)
	return tracked && (at == nil || at[1] == s.GetKind() && at[3] == s.GetName() && (s.GetNamespace() == "" || at[2] == s.GetNamespace()))
}

func (r *rule) allowsManaged() bool { return r.Delete != nil && r.Delete.AllowManaged }

// isMaterial reports whether an object is a ConfigMap or Secret. Some of these are kept without a hold.
func isMaterial(s *history.State) bool {
	return isKind(s, "v1", "ConfigMap") || isKind(s, "v1", "Secret")
}

func isNeeded(s *history.State) bool {
	if !isMaterial(s) {
		return false
	}
	_, token := s.GetAnnotations()["kubernetes.io/service-account.name"]
	secret := s.GetKind() == "Secret"
	switch {
	case s.GetKind() == "ConfigMap" && s.GetName() == "kube-root-ca.crt":
	case secret && token:
	case secret && strings.HasPrefix(s.GetName(), "bootstrap-token-"):
	case secret && s.Object["type"] == "bootstrap.kubernetes.io/token":
	case strings.HasPrefix(s.GetName(), "sh.helm.release.v1."), s.GetLabels()["owner"] == "helm":
	case slices.Contains([]string{"kube-system", "kube-public", "kube-node-lease"}, s.GetNamespace()):
	default:
		return false
	}
	return true
}

// isUncounted reports whether an object is a Pod that the Job controller has not counted.
func isUncounted(s *history.State) bool {
	return isKind(s, "v1", "Pod") && slices.Contains(s.GetFinalizers(), "batch.kubernetes.io/job-tracking")
}

func isMirror(s *history.State) bool {
	_, mirror := s.GetAnnotations()[v1alpha1.MirrorPodAnnotation]
	return mirror && isKind(s, "v1", "Pod")
}

func (j *checker) isProtectedNamespace(name string) bool {
	return name != "" && slices.Contains(j.Protected, name)
}

func (j *checker) isProtectedKind(kind schema.GroupKind) bool {
	if slices.Contains(j.AllowKinds, kind) {
		return false
	}
	switch kind.Group {
	case "admissionregistration.k8s.io", "apiregistration.k8s.io", "coordination.k8s.io", "rbac.authorization.k8s.io", "sunset-k8s.io":
		return true
	case "":
		return slices.Contains([]string{"Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim"}, kind.Kind)
	case "apiextensions.k8s.io":
		return kind.Kind == "CustomResourceDefinition"
	}
	return false
}
