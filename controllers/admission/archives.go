// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive/settings"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// reviewArchive refuses a RetentionArchive with a spec that the controller cannot use. Whether the store works, it does not find out.
func (r *Reviewer) reviewArchive(ctx context.Context, req admission.Request) admission.Response {
	a, problems := settings.Parse(req.Object.Raw)
	if a != nil && req.Operation == admissionv1.Create { // url never changes
		all := &v1alpha1.RetentionArchiveList{}
		_ = r.Live.List(ctx, all) // the controller finds it out too
		for _, other := range all.Items {
			if settings.PlaceOf(other.Spec.URL) == settings.PlaceOf(a.Spec.URL) {
				problems = append(problems, settings.SharedPlaceProblem(other.Name))
			}
		}
	}
	if len(problems) > 0 {
		return refusal(v1alpha1.RetentionArchiveKind.Kind, problems)
	}
	return admission.Allowed("")
}

// archives returns warnings about rules that no longer archive, and about those that cannot archive to their RetentionArchive as it is.
func (r *Reviewer) archives(ctx context.Context, v *review) (warnings []string) {
	before := v.before.rules()
	mayArchive := sync.OnceValue(func() func(*policy.Rule) error { return r.mayArchive(ctx, v.Namespace) })
	for _, rule := range v.Rules {
		path := fmt.Sprintf("spec.rules[%d].archive: ", rule.Index)
		if rule.Archive == nil {
			if before[rule.ID.Rule]["archive"] != nil {
				warnings = append(warnings, path+"the rule no longer archives the objects that it deletes")
			}
			continue
		}
		if missing := unredactedPods(rule.Archive); len(missing) > 0 {
			warnings = append(warnings, path+"the Pods among the dependents keep the values that redact removes from spec.template; to remove these too, add "+strings.Join(missing, ", "))
		}
		if err := mayArchive()(rule); err != nil {
			warnings = append(warnings, path+err.Error()+"; until then the rule deletes nothing")
		}
	}
	return warnings
}

// unredactedPods returns the paths that redact lacks: a Pod has below spec what the object that creates it has below spec.template.spec.
func unredactedPods(a *policy.Archive) (missing []string) {
	if !slices.Contains(a.Dependents, corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()) {
		return nil
	}
	for _, path := range a.Redact {
		below, isTemplate := strings.CutPrefix(strings.TrimPrefix(path, "."), "spec.template.spec")
		if pod := "spec" + below; isTemplate && !slices.Contains(a.Redact, pod) && !slices.Contains(a.Redact, "."+pod) {
			missing = append(missing, pod)
		}
	}
	return missing
}

// mayArchive reads all RetentionArchives, and the namespace of a policy unless it is empty. It returns a function that returns why a rule
// of this policy may not archive; nil if it may, or if the reads failed.
func (r *Reviewer) mayArchive(ctx context.Context, namespace string) func(*policy.Rule) error {
	all, in := &v1alpha1.RetentionArchiveList{}, &metav1.PartialObjectMetadata{}
	in.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	listErr := r.Live.List(ctx, all) // the controller may list them, and not get them
	var getErr error
	if namespace != "" {
		getErr = r.Live.Get(ctx, client.ObjectKey{Name: namespace}, in)
	}
	return func(rule *policy.Rule) error {
		i := slices.IndexFunc(all.Items, func(a v1alpha1.RetentionArchive) bool { return a.Name == rule.Archive.To })
		switch {
		case listErr != nil:
			return nil
		case i < 0:
			return policy.NoArchive(rule.Archive.To)
		case getErr != nil:
			return nil
		}
		return policy.MayArchive(rule, &all.Items[i], policy.NamespaceOf(in.Labels, in.Annotations))
	}
}
