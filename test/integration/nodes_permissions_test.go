// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

const agentAccount = "sunset-node-agent"

// agents grants agents their permissions and no others, in the test's namespace instead of Sunset's.
func (w *env) agents() {
	w.Helper()
	w.Cleanup(func() { // after the deletion of the file's objects; other tests write reports too
		cluster.Eventually(w, patience, func() error { return w.Client.Create(context.Background(), reportOf("probe"), client.DryRunAll) })
	})
	here := func(object *unstructured.Unstructured) {
		text, err := json.Marshal(object.Object)
		expect.NoError(w, err)
		object.Object = nil
		expect.NoError(w, json.Unmarshal([]byte(strings.ReplaceAll(string(text), "sunset-system", w.namespace)), &object.Object))
	}
	w.apply("../nodes/rbac.yaml", here)
	w.apply("../nodes/agent.yaml", here)
	w.apply("reports.yaml", here)
	cluster.Eventually(w, patience, func() error {
		return refused(w.Create(w.Context(), reportOf("probe"), client.DryRunAll), "only system:serviceaccount:"+w.namespace+":"+agentAccount)
	})
}

// agent is a client with a token of a ServiceAccount that is bound to a Pod on a node. With an empty node, the token has no
// node.
func (w *env) agent(account, node string) client.Client {
	w.Helper()
	request := &authenticationv1.TokenRequest{}
	if node != "" {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: account + "-"},
			Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: account, RestartPolicy: corev1.RestartPolicyAlways,
				Containers: []corev1.Container{{Name: "agent", Image: "agent"}}},
		}
		w.create(pod)
		w.Cleanup(func() { _ = w.Client.Delete(context.Background(), pod, client.GracePeriodSeconds(0)) })
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: account}}
	expect.NoError(w, w.SubResource("token").Create(w.Context(), of, request))
	admin := w.plane.Config()
	c, err := client.New(&rest.Config{
		Host: admin.Host, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData}, BearerToken: request.Status.Token, QPS: -1,
	}, client.Options{Scheme: w.Scheme()})
	expect.NoError(w, err)
	return c
}

// reportOf is a report as the agent of a node writes it.
func reportOf(node string, adjust ...func(*v1alpha1.NodeImageReport)) *v1alpha1.NodeImageReport {
	r := &v1alpha1.NodeImageReport{ObjectMeta: metav1.ObjectMeta{
		Name: node, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: "uid"}},
	}}
	for _, a := range adjust {
		a(r)
	}
	return r
}

// TestAgentWritesTheReportOfItsNodeAndNothingElse: the node in the token of an agent selects the only report that it may
// write.
func TestAgentWritesTheReportOfItsNodeAndNothingElse(t *testing.T) {
	w := newEnv(t)
	w.agents()
	mine, other := cluster.NodeName(0), cluster.NodeName(1)
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "tenant"}})
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: agentAccount},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.namespace, Name: "tenant"}},
	}
	w.temporary(binding)
	for _, account := range []string{agentAccount, "tenant"} {
		create := rbacv1.PolicyRule{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"nodeimagereports"}, Verbs: []string{"create"}}
		w.waitForPermission("", "system:serviceaccount:"+w.namespace+":"+account, create, true)
	}

	agent := w.agent(agentAccount, mine)
	for name, test := range map[string]struct {
		as     client.Client
		report *v1alpha1.NodeImageReport
		words  string // in the message of the refusal
	}{
		"its own":                 {agent, reportOf(mine), ""},
		"that of another node":    {agent, reportOf(other), "agent on node " + mine + " may not write the report of " + other},
		"one without a name":      {agent, reportOf("", func(r *v1alpha1.NodeImageReport) { r.GenerateName = mine }), ""},
		"a token without a node":  {w.agent(agentAccount, ""), reportOf(mine), "not bound to a Pod on a node"},
		"another account":         {w.agent("tenant", mine), reportOf(mine), "only system:serviceaccount:" + w.namespace + ":" + agentAccount},
		"an administrator":        {w.Client, reportOf(mine), "only system:serviceaccount"},
		"without its node":        {agent, reportOf(mine, func(r *v1alpha1.NodeImageReport) { r.OwnerReferences = nil }), "owned by its node"},
		"owned by another":        {agent, reportOf(mine, func(r *v1alpha1.NodeImageReport) { r.OwnerReferences[0].Name = other }), "owned by its node"},
		"owned by another kind":   {agent, reportOf(mine, func(r *v1alpha1.NodeImageReport) { r.OwnerReferences[0].Kind = "Pod" }), "owned by its node"},
		"owned by two":            {agent, reportOf(mine, func(r *v1alpha1.NodeImageReport) { r.OwnerReferences = append(r.OwnerReferences, ownedByPod) }), "owned by its node"},
		"that keeps its node":     {agent, reportOf(mine, func(r *v1alpha1.NodeImageReport) { r.OwnerReferences[0].BlockOwnerDeletion = new(true) }), "owned by its node"},
		"that cannot be deleted":  {agent, reportOf(mine, func(r *v1alpha1.NodeImageReport) { r.Finalizers = []string{"example.com/stay"} }), "owned by its node"},
		"a node with another pod": {w.agent(agentAccount, other), reportOf(mine), "agent on node " + other},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.as.Create(t.Context(), test.report, client.DryRunAll)
			if name != "its own" {
				err = refused(err, test.words)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	w.updates(agent, w.agent(agentAccount, other), mine)
	w.reads(agent, mine)
}

var ownedByPod = metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "uid"}

// updates checks that the agent may update its report and that other users may not.
func (w *env) updates(agent, neighbour client.Client, node string) {
	w.Helper()
	n := &corev1.Node{}
	expect.NoError(w, agent.Get(w.Context(), client.ObjectKey{Name: node}, n))
	r := reportOf(node, func(r *v1alpha1.NodeImageReport) { r.OwnerReferences[0].UID = n.UID })
	expect.NoError(w, agent.Create(w.Context(), r))
	w.Cleanup(func() { _ = w.Client.Delete(context.Background(), r) })
	r.Images = 7
	if err := agent.Update(w.Context(), r); err != nil {
		w.Error(err)
	}
	other := r.DeepCopy()
	other.Images = 8
	for name, c := range map[string]client.Client{"the agent of another node": neighbour, "an administrator": w.Client} {
		if err := refused(c.Update(w.Context(), other.DeepCopy())); err != nil {
			w.Errorf("%s: %v", name, err)
		}
	}
	other.OwnerReferences = nil
	if err := refused(agent.Update(w.Context(), other), "owned by its node"); err != nil {
		w.Error(err)
	}
}

// reads checks what else an agent may read, and what it must not do.
func (w *env) reads(agent client.Client, node string) {
	w.Helper()
	policies := &metav1.PartialObjectMetadataList{}
	policies.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	for _, list := range []struct {
		client.ObjectList
		options []client.ListOption
	}{
		{policies, nil},
		{&v1alpha1.NodeImageRulesList{}, nil},
		{&corev1.PodList{}, []client.ListOption{client.MatchingFields{"spec.nodeName": node}}},
		{&corev1.NodeList{}, []client.ListOption{client.MatchingFields{"metadata.name": node}}},
	} {
		if err := agent.List(w.Context(), list.ObjectList, list.options...); err != nil {
			w.Errorf("list %T: %v", list.ObjectList, err)
		}
	}
	rules := &v1alpha1.NodeImageRules{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NodeImageRulesName}}
	r := reportOf(node)
	for what, err := range map[string]error{
		"rules":              agent.Create(w.Context(), rules, client.DryRunAll),
		"a policy":           agent.Create(w.Context(), w.clusterPolicy("p", oldImages), client.DryRunAll),
		"deleting a report":  agent.Delete(w.Context(), r, client.DryRunAll),
		"reports of others":  agent.List(w.Context(), &v1alpha1.NodeImageReportList{}),
		"deleting a pod":     agent.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.namespace), client.DryRunAll),
		"secrets":            agent.List(w.Context(), &corev1.SecretList{}),
		"a policy's content": agent.Get(w.Context(), client.ObjectKey{Name: "p"}, &v1alpha1.ClusterRetentionPolicy{}),
	} {
		if err == nil || !apierrors.IsForbidden(err) {
			w.Error(errors.New(fmt.Sprint(what, " is not forbidden: ", err)))
		}
	}
}
