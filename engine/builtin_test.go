// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func mustJSON(t testing.TB, object map[string]any) string {
	t.Helper()
	data, err := json.Marshal(object)
	expect.NoError(t, err)
	return string(data)
}

// TestBuiltInHolds compares the reasons of BuiltInHold, and checks that the fields that a Decoder reads are enough to
// determine them.
func TestBuiltInHolds(t *testing.T) {
	const (
		account    = "it is the token of a ServiceAccount"
		bootstrap  = "nodes join the cluster with it"
		helm       = "Helm stores a release in it"
		controlled = "a controller owns it (metadata.ownerReferences)"
		ours       = "it is in a system namespace of Kubernetes"
	)
	tests := map[string]struct {
		object string
		want   string
	}{
		"a ConfigMap":                     {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}}`, ""},
		"a Secret":                        {`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: a, namespace: n}}`, ""},
		"the certificates of the cluster": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: n}}`, "Pods verify the API server with it"},
		"a Secret with the name kube-root-ca.crt":            {`{apiVersion: v1, kind: Secret, metadata: {name: kube-root-ca.crt, namespace: n}}`, ""},
		"the token of a ServiceAccount":                      {`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: n, annotations: {kubernetes.io/service-account.name: builder}}}`, account},
		"a token in a file, by its type":                     {`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: a}}`, account},
		"a ConfigMap with the annotation of a token":         {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n, annotations: {kubernetes.io/service-account.name: builder}}}`, ""},
		"a bootstrap token":                                  {`{apiVersion: v1, kind: Secret, metadata: {name: bootstrap-token-abcdef, namespace: kube-system}}`, bootstrap},
		"a bootstrap token by its type":                      {`{apiVersion: v1, kind: Secret, type: bootstrap.kubernetes.io/token, metadata: {name: a, namespace: n}}`, bootstrap},
		"the name of a bootstrap token in another namespace": {`{apiVersion: v1, kind: Secret, metadata: {name: bootstrap-token-abcdef, namespace: n}}`, ""},
		"a Helm release":                                     {`{apiVersion: v1, kind: Secret, metadata: {name: sh.helm.release.v1.shop.v3, namespace: n}}`, helm},
		"a Helm release in a ConfigMap":                      {`{apiVersion: v1, kind: ConfigMap, metadata: {name: sh.helm.release.v1.shop.v3, namespace: n}}`, helm},
		"a Helm release by its label":                        {`{apiVersion: v1, kind: ConfigMap, metadata: {name: shop.v3, namespace: n, labels: {owner: helm}}}`, helm},
		"a Helm release in a file, by its type":              {`{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: shop.v3, namespace: n}}`, helm},
		"a label with another owner":                         {`{apiVersion: v1, kind: ConfigMap, metadata: {name: shop.v3, namespace: n, labels: {owner: ann}}}`, ""},
		"a controller owns it":                               {`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: n, ownerReferences: [{kind: A, name: a}, {kind: B, name: b, controller: true}]}}`, controlled},
		"owners, but no controller":                          {`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: n, ownerReferences: [{kind: A, name: a}, {kind: B, name: b, controller: false}]}}`, ""},
		"in kube-system":                                     {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: kube-system}}`, ours},
		"in kube-public":                                     {`{apiVersion: v1, kind: ConfigMap, metadata: {name: cluster-info, namespace: kube-public}}`, ours},
		"in kube-node-lease":                                 {`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: kube-node-lease}}`, ours},
		"a Pod in kube-system":                               {`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: kube-system}}`, ""},
		"a Pod that is controlled":                           {`{apiVersion: v1, kind: Pod, metadata: {name: a, ownerReferences: [{kind: B, name: b, controller: true}]}}`, ""},
		"a Secret of another group":                          {`{apiVersion: example.com/v1, kind: Secret, metadata: {name: sh.helm.release.v1.a, namespace: kube-system}}`, ""},
		"fields of unexpected types":                         {`{apiVersion: v1, kind: Secret, type: 7, metadata: {name: a, labels: [owner], annotations: helm, ownerReferences: [a, {controller: "true"}]}}`, ""},
		"without metadata":                                   {`{apiVersion: v1, kind: Secret}`, ""},
	}
	c := fixture.Compiler(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := fixture.Decode(t, test.object)
			expect.Equal(t, "built in hold", test.want, engine.BuiltInHold(o))
			if o["metadata"] == nil {
				return
			}
			kind, version := o["kind"].(string), o["apiVersion"].(string)
			r := v1alpha1.Rule{Target: v1alpha1.Target{APIVersion: version, Kind: kind}, Eligible: "true", StartTime: "object.metadata.creationTimestamp"}
			decoded, err := engine.NewDecoder(mustCompile(t, c, r)).Decode([]byte(mustJSON(t, o)))
			expect.NoError(t, err)
			for from, object := range map[string]map[string]any{"whole": o, "decoded": decoded} {
				s, err := engine.SubjectOf(object)
				if err != nil || s.Flags.HasHold() != (test.want != "") || s.Flags.Has(policy.IsHeld) {
					t.Errorf("%s: %+v, %v", from, s, err)
				}
			}
		})
	}
}

func TestNeededOwnerDoesNotGo(t *testing.T) {
	err := engine.CheckOwnerDeletion(fixture.Decode(t, `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: kube-system}}`), engine.Allowed{Unfinished: true, Managed: true})
	if err == nil || err.Error() != "is held" {
		t.Errorf("%v", err)
	}
}
