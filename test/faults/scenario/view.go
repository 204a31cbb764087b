// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

const (
	// scenarioLabel is on the policies of a scenario and on the namespaces that they select. Its value is the scenario's
	// namespace.
	scenarioLabel = "faults.sunset.test/scene"
	// homeLabel is on Sunset's own namespace.
	homeLabel = "faults.sunset.test/home"
)

// labelling is a client that adds the label of a scenario to the objects that it creates.
type labelling struct {
	client.Client
	scenario string
}

// Create implements client.Writer.
func (l labelling) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if l.labels(object) {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		if _, labelled := labels[scenarioLabel]; !labelled {
			labels[scenarioLabel] = l.scenario
		}
		object.SetLabels(labels)
	}
	return l.Client.Create(ctx, object, opts...)
}

// Through returns a client like the scenario's, at one of the API servers, with a timeout.
func (s *Scenario) Through(server Server, patience time.Duration) client.Client {
	s.Helper()
	config, err := s.Cluster.UserConfigAt(server.component(), "admin", "system:masters")
	expect.NoError(s, err)
	config.Timeout = patience
	c, err := client.New(config, client.Options{Scheme: s.Scheme(), Mapper: s.RESTMapper()})
	expect.NoError(s, err)
	return labelling{Client: c, scenario: s.Namespace}
}

func (l labelling) labels(object client.Object) bool {
	kind, err := l.GroupVersionKindFor(object)
	if err != nil {
		return false // the API server will report the error
	}
	switch kind.GroupKind() {
	case v1alpha1.ClusterRetentionPolicyKind.GroupKind(), v1alpha1.RetentionPolicyKind.GroupKind(), v1alpha1.RetentionArchiveKind.GroupKind(),
		corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind():
		return true
	default:
		return false
	}
}

// narrow makes a proxy show only the policies, archives and ledgers of a scenario.
func (s *Scenario) narrow(g *proxy.Proxy) {
	policies := proxy.Requests("", "clusterretentionpolicies").Or(proxy.Requests("", "retentionpolicies")).Or(proxy.Requests("", "retentionarchives"))
	collections := proxy.Requests("list", "").Or(proxy.Requests("watch", ""))
	g.Adjust(func(r *http.Request) {
		if policies.And(collections)(r) {
			query := r.URL.Query()
			query.Set("labelSelector", scenarioLabel+"="+s.Namespace)
			r.URL.RawQuery = query.Encode()
		}
	})
	g.Arm(proxy.Fault{Match: proxy.Requests("list", "retentionledgers"), Rewrite: s.onlyLedgers})
}

// onlyLedgers removes the ledgers of other scenarios from a list: no selector of the API server can do that.
func (s *Scenario) onlyLedgers(body []byte) []byte {
	var list map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(body, &list) != nil || json.Unmarshal(list["items"], &items) != nil {
		return body // an error, not a list
	}
	kept := []json.RawMessage{}
	for _, item := range items {
		var l v1alpha1.RetentionLedger
		if json.Unmarshal(item, &l) != nil || s.owns(l.Policy.Namespace, l.Policy.Name) {
			kept = append(kept, item)
		}
	}
	list["items"], _ = json.Marshal(kept) // it was JSON
	changed, _ := json.Marshal(list)
	return changed
}

// owns reports whether a policy belongs to the scenario.
func (s *Scenario) owns(namespace, name string) bool {
	if namespace != "" {
		name = namespace
	}
	return name == s.Namespace || strings.HasPrefix(name, s.Namespace+"-")
}
