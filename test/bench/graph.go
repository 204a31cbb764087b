// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// graphRules ask about seven objects of each app, of which every one is in use.
var graphRules = []struct{ name, target, eligible string }{
	{"configmaps", "apiVersion: v1, kind: ConfigMap", "references.count == 0"},
	{"accounts", "apiVersion: v1, kind: ServiceAccount", "references.count == 0"},
	{"services", "apiVersion: v1, kind: Service", "selected.count == 0 && references.count == 0"},
	{"budgets", "apiVersion: policy/v1, kind: PodDisruptionBudget", "selected.count == 0"},
	{"autoscalers", "apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler", "targets.missing.size() > 0"},
	{"replicasets", "apiVersion: apps/v1, kind: ReplicaSet", "object.spec.replicas == 0 && references.count == 0 && !has(object.metadata.ownerReferences)"},
}

// objectsOfApp is how many objects of an app the rules select.
const objectsOfApp = 7

// graphPolicy returns the policy with these rules, or with rules for the same objects that ask nothing about others.
func graphPolicy(asks bool) string {
	var b strings.Builder
	b.WriteString("  mode: Enforce\n  excludeNamespaces: [default]\n  rules:\n")
	for _, r := range graphRules {
		if !asks {
			r.eligible = "object.metadata.name == ''"
		}
		fmt.Fprintf(&b, "  - name: %s\n    target: {%s}\n    eligible: %q\n    ttl: 30d\n", r.name, r.target, r.eligible)
	}
	return b.String()
}

// readsOfRelatedPods measures the cost of one Pod event for these rules, beside Services that select the Pods.
func (l *environment) readsOfRelatedPods(ctx context.Context) error {
	asked := references.Asked{
		references.ConfigMap: policy.AsksReferences, "ServiceAccount": policy.AsksReferences, "Service": policy.AsksReferences | policy.AsksSelected,
		"PodDisruptionBudget.policy": policy.AsksSelected, "HorizontalPodAutoscaler.autoscaling": policy.AsksTargets, "ReplicaSet.apps": policy.AsksReferences,
	}
	return l.readPods(ctx, asked, ", for rules about six kinds", l.size.referred, func(i int) *corev1.Pod {
		pod := podOfApp(referredIn(i%l.size.referred), referredName(i%l.size.referred), "new")
		pod.Name = fmt.Sprintf("web-%05d", i)
		return pod
	})
}

// graph measures rules about six kinds that ask for references, targets and selected objects, beside many Pods and ReplicaSets: their
// memory, and the cost of the events of Pods.
func (l *environment) graph(ctx context.Context) error {
	return l.withPods(ctx, func(own *environment) []func(context.Context) error {
		return []func(context.Context) error{own.readsOfRelatedPods, own.populateGraph, own.withoutGraph, own.withGraph}
	})
}

// populateGraph creates the objects of all apps, and Services that select nothing.
func (l *environment) populateGraph(ctx context.Context) error {
	for i := range referredNamespaces {
		if err := ensureNamespace(ctx, l.client, referredIn(i)); err != nil {
			return err
		}
	}
	if err := ensureNamespace(ctx, l.client, spareNamespace); err != nil {
		return err
	}
	if err := together(ctx, l.size.spares, func(ctx context.Context, i int) error { return l.createService(ctx, spareNamespace, spareName(i)) }); err != nil {
		return err
	}
	if err := together(ctx, l.size.referred, l.createApp); err != nil {
		return err
	}
	return together(ctx, l.size.referring, func(ctx context.Context, i int) error {
		of := i % l.size.referred
		pod := podOfApp(referredIn(of), referredName(of), "new")
		pod.Name = fmt.Sprintf("web-%05d", i)
		_, err := l.createPod(ctx, pod)
		return err
	})
}

// createApp creates a ConfigMap, a ServiceAccount, a Service, a disruption budget, an autoscaler and two ReplicaSets.
func (l *environment) createApp(ctx context.Context, i int) error {
	namespace, name := referredIn(i), referredName(i)
	own := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if err := l.createConfigMap(ctx, namespace, name, nil); err != nil {
		return err
	}
	if _, err := l.client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: own}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := l.createService(ctx, namespace, name); err != nil {
		return err
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: own, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}
	if _, err := l.client.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, hash := range []string{"new", "old"} {
		if _, err := l.client.AppsV1().ReplicaSets(namespace).Create(ctx, replicaSetOfApp(namespace, name, hash), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: own, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MaxReplicas: 10, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-new"},
	}}
	_, err := l.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(ctx, scaler, metav1.CreateOptions{})
	return err
}

// createService creates a headless Service that selects the Pods of an app.
func (l *environment) createService(ctx context.Context, namespace, app string) error {
	_, err := l.client.CoreV1().Services(namespace).Create(ctx, serviceOf(namespace, app), metav1.CreateOptions{})
	return err
}

func serviceOf(namespace, app string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// podOfApp is a Pod of one ReplicaSet of an app.
func podOfApp(namespace, app, hash string) *corev1.Pod {
	pod := referringPod(namespace, app, app)
	pod.Labels["app"], pod.Labels["pod-template-hash"] = app, hash
	pod.Spec.ServiceAccountName = app
	return pod
}

// replicaSetOfApp is one of two ReplicaSets of an app. A Deployment keeps the old one for a rollback.
func replicaSetOfApp(namespace, app, hash string) *appsv1.ReplicaSet {
	pod := podOfApp(namespace, app, hash)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app + "-" + hash, Labels: pod.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: app, UID: "d", Controller: ptr.To(true)}}},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app, "pod-template-hash": hash}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}
	if hash == "new" {
		set.Spec.Replicas = ptr.To[int32](5)
	}
	return set
}

// besideApps describes the objects of scenario graph.
func (l *environment) besideApps(how string) string {
	return fmt.Sprintf("%d objects of six kinds beside %d Pods, %s", objectsOfApp*l.size.referred+l.size.spares, l.size.referring, how)
}

// withoutGraph measures the cost of the objects alone.
func (l *environment) withoutGraph(ctx context.Context) error {
	sunset, err := l.resident(ctx, "alone", graphPolicy(false), l.besideApps("rules read only the object"), func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return p.Status.Matched == int64(objectsOfApp*l.size.referred+l.size.spares)
	})
	if err != nil {
		return err
	}
	sunset.stop()
	return l.remove(ctx, "alone")
}

// withGraph measures the same with rules that ask about other objects, and the cost of Pods that are created and deleted.
func (l *environment) withGraph(ctx context.Context) error {
	sunset, err := l.resident(ctx, "related", graphPolicy(true), l.besideApps("rules read references, targets and selected"), func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReferencesKnown) &&
			p.Status.Matched == int64(objectsOfApp*l.size.referred+l.size.spares) && p.Status.Eligible == int64(l.size.spares)
	})
	if err != nil {
		return err
	}
	defer sunset.stop()
	c, err := l.churn(ctx, sunset, func(context.Context) error { return nil })
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("the same while %s Pods are created and deleted", perSecond(c.pods, c.took)),
		fmt.Sprintf("%.2f ms of CPU for each event", 1000*c.cpu.Seconds()/float64(2*c.pods)),
		fmt.Sprintf("%s events, %.0f %% of a core", perSecond(2*c.pods, c.took), 100*c.cpu.Seconds()/c.took.Seconds()))
	return nil
}
