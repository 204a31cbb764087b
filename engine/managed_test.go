// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestSignsOfOtherControllers: each sign alone, as on live objects, and values that look like a sign but are not.
func TestSignsOfOtherControllers(t *testing.T) {
	const job, namespace = "apiVersion: batch/v1\nkind: Job\n", "apiVersion: v1\nkind: Namespace\n"
	for name, test := range map[string]struct {
		object string
		want   policy.Reason
		says   string
	}{
		"a remote of MultiKueue": {job + `metadata: {name: a, namespace: team, labels: {kueue.x-k8s.io/multikueue-origin: multikueue}}`,
			policy.ManagedByMultiKueue, "label kueue.x-k8s.io/multikueue-origin"},
		"tracked by Argo CD": {job + `metadata: {name: a, namespace: team, annotations: {argocd.argoproj.io/tracking-id: "web:batch/Job:team/a"}}`,
			policy.ManagedByArgoCD, "Argo CD tracks it (annotation argocd.argoproj.io/tracking-id)"},
		"tracked, with colons in the name": {`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: "system:a:b", namespace: team,
			annotations: {argocd.argoproj.io/tracking-id: "web:rbac.authorization.k8s.io/Role:team/system:a:b"}}}`, policy.ManagedByArgoCD, "tracks it"},
		"tracked, in the core group": {`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: team,
			annotations: {argocd.argoproj.io/tracking-id: "web:/Service:team/a"}}}`, policy.ManagedByArgoCD, "tracks it"},
		"tracked under a former group": {`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: team,
			annotations: {argocd.argoproj.io/tracking-id: "web:extensions/Ingress:team/a"}}}`, policy.ManagedByArgoCD, "tracks it"},
		"tracked, without a namespace": {namespace + `metadata: {name: a, annotations: {argocd.argoproj.io/tracking-id: "web:/Namespace:argo/a"}}`,
			policy.ManagedByArgoCD, "tracks it"},
		"an invalid tracking id": {job + `metadata: {name: a, namespace: team, annotations: {argocd.argoproj.io/tracking-id: "web"}}`,
			policy.ManagedByArgoCD, "tracks it"},
		"an empty tracking id": {job + `metadata: {name: a, namespace: team, annotations: {argocd.argoproj.io/tracking-id: ""}}`, policy.ManagedByArgoCD, "tracks it"},
		"a hook of Argo CD":    {job + `metadata: {name: a, namespace: team, annotations: {argocd.argoproj.io/hook: PostSync}}`, policy.ManagedByArgoCD, "hook of Argo CD"},
		"applied by a Kustomization": {job + `metadata: {name: a, namespace: team, labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}}`,
			policy.ManagedByFlux, "Kustomization of Flux"},
		"applied by a HelmRelease": {job + `metadata: {name: a, namespace: team, labels: {helm.toolkit.fluxcd.io/name: web}}`, policy.ManagedByFlux, "HelmRelease of Flux"},
		"a Helm hook":              {job + `metadata: {name: a, namespace: team, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}`, policy.ManagedByHelm, "Helm hook"},
		"the first of two signs": {job + `metadata: {name: a, namespace: team, labels: {kueue.x-k8s.io/multikueue-origin: m}, annotations: {helm.sh/hook: test}}`,
			policy.ManagedByMultiKueue, "MultiKueue"},

		"nothing": {job + `metadata: {name: a, namespace: team}`, "", ""},
		"a Deployment's annotations on its ReplicaSet": {`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-5d4f, namespace: team,
			annotations: {argocd.argoproj.io/tracking-id: "web:apps/Deployment:team/web"}}}`, "", ""},
		"copied to another name":      {job + `metadata: {name: b, namespace: team, annotations: {argocd.argoproj.io/tracking-id: "web:batch/Job:team/a"}}`, "", ""},
		"copied to another namespace": {job + `metadata: {name: a, namespace: other, annotations: {argocd.argoproj.io/tracking-id: "web:batch/Job:team/a"}}`, "", ""},
		"labels that people write": {job + `metadata: {name: a, namespace: team, labels: {app.kubernetes.io/instance: web, app.kubernetes.io/managed-by: Helm,
			helm.sh/chart: web-1.0}}`, "", ""},
		"a sign in the wrong place": {job + `metadata: {name: a, namespace: team, annotations: {kueue.x-k8s.io/multikueue-origin: m}, labels: {helm.sh/hook: test}}`, "", ""},
		"on the template of its Pods": {job + `
metadata: {name: a, namespace: team}
spec: {template: {metadata: {labels: {kueue.x-k8s.io/multikueue-origin: m}}}}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			whole := fixture.Decode(t, strings.ReplaceAll(test.object, "\t", " "))
			lean, err := engine.NewDecoder().Decode([]byte(mustJSON(t, whole)))
			expect.NoError(t, err)
			for how, object := range map[string]map[string]any{"whole": whole, "as decoded": lean} {
				s, err := engine.SubjectOf(object)
				if err != nil || s.Flags.Manager() != test.want {
					t.Errorf("%s: managed by %q (%v), want %q", how, s.Flags.Manager(), err, test.want)
				}
				if got := engine.Manager(object); (test.says == "") != (got == "") || !strings.Contains(got, test.says) {
					t.Errorf("%s: says %q, want %q", how, got, test.says)
				}
				err = engine.CheckOwnerDeletion(object, engine.Allowed{Unfinished: true})
				if errors.Is(err, engine.ErrManaged) != (test.want != "") {
					t.Errorf("%s, as an owner: %v", how, err)
				}
				if err := engine.CheckOwnerDeletion(object, engine.Allowed{Unfinished: true, Managed: true}); err != nil {
					t.Errorf("%s, as an owner that the rule allows: %v", how, err)
				}
			}
		})
	}
}
