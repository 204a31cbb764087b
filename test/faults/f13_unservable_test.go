// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// deadService registers an API group without a server.
const deadService = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.dead.GROUP}
spec:
  group: dead.GROUP
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {namespace: default, name: missing}
`

// deadWebhook is a CRD with a conversion webhook that does not exist.
const deadWebhook = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "https://127.0.0.1:9/convert"}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

const widget = `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: widget, labels: {env: preview}}
`

// TestF13KindsThatCannotBeServedDelayNoOther has an API group without a server, and custom resources that cannot be
// converted. The policies for these kinds report the error, and all other policies work normally.
func TestF13KindsThatCannotBeServedDelayNoOther(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true})
	service, crd := apply(s, deadService), apply(s, deadWebhook)
	stored := read(s, widget)
	stored.SetNamespace(s.Namespace)
	s.Eventually(func() error { return s.Create(t.Context(), stored) }) // the API server needs a moment to serve the kind
	dead := s.Policy("dead", `
mode: Enforce
rules:
- name: things
  target: {apiVersion: `+grouped(s, "dead.GROUP/v1")+`, kind: Thing}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	converted := s.Policy("converted", customAt(s, "v2"))
	p := s.Policy("previews", previews("Enforce", "0s"))
	r := s.Sunset(scenario.Start{})

	began := time.Now()
	for _, cm := range configMaps(s, "cm", 5, preview) {
		s.Gone(cm)
	}
	tells(s, converted, v1alpha1.ConditionWatching, "ListFailed", "conversion webhook")
	s.Status(dead, func(status v1alpha1.RetentionPolicyStatus) error {
		c := scenario.Condition(status, v1alpha1.ConditionWatching)
		return cluster.Want(c.Status == metav1.ConditionFalse, "Watching should be False because the kind is not served")
	})
	s.Stays(2*time.Second, stored)
	requests := len(since(began, r.Proxy.Journal()))
	s.Logf("%d requests in %s with kinds that fail", requests, time.Since(began).Round(time.Second))

	s.Edit(converted, func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.Mode = v1alpha1.DryRun })
	s.Remove(service)
	s.Change(crd, func() { crd.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "None"} })
	counted(s, converted, 1)
	tells(s, dead, v1alpha1.ConditionWatching, "KindNotFound")
	counted(s, p, 0)
	s.Calm()
}
