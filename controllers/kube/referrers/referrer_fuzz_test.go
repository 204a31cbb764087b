// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// FuzzReferrer reads any object as an object of each built-in kind. Nothing may panic. If references cannot be read, Read
// returns an error with the kinds of their targets, and no reference to these kinds. The decoded fields have the same
// references as the whole object.
func FuzzReferrer(f *testing.F) {
	for _, data := range []string{
		`{"metadata":{"name":"a","namespace":"shop","uid":"u"},"spec":{"volumes":[{"configMap":{"name":"c"}}],"template":{"spec":{"containers":[{"envFrom":[{"secretRef":{"name":"s"}}]}]}}}}`,
		`{"metadata":{"name":"a","namespace":"shop","uid":"u"},"spec":{"jobTemplate":{"spec":{"template":{"spec":{"imagePullSecrets":[{"name":"s"}]}}}}}}`,
		`{"metadata":{"name":"a","uid":"u"},"secrets":[{"name":"s"}],"imagePullSecrets":[{}],"parameters":{"SECRETNAME":"s","secretNamespace":"${pvc.namespace}"}}`,
		`{"metadata":{"name":"a","uid":"u","ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"s"}]},"data":{"spec":{"template":{"spec":null}}}}`,
		`{"metadata":{"uid":"u"},"spec":{"tls":[{"secretName":"s"}],"rules":[{"http":{"paths":[{"backend":{"resource":{"kind":"ConfigMap","name":"c"}}}]}}],"defaultBackend":7}}`,
		`{"metadata":null,"spec":"text","data":[],"secrets":{},"template":{"spec":[]}}`,
		`{"spec":{"paramRef":{"name":"a","namespace":["x"]},"csi":{"nodeStageSecretRef":{"name":"s"}},"claimRef":{}}}`,
	} {
		f.Add([]byte(data))
	}
	c := fixture.Compiler(f)
	table, _ := extract.NewTable(c, nil, everything())
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole map[string]any
		if json.Unmarshal(data, &whole) != nil || sigsjson.UnmarshalCaseSensitivePreserveInts(data, &whole) != nil || whole == nil {
			t.Skip()
		}
		e := c.NewEvaluator(t.Context())
		defer e.Close()
		for _, kind := range table.Kinds() {
			got := table.Read(e, kind, whole)
			if (got.Err != nil) != (len(got.Unread) > 0) {
				t.Errorf("%s: error %v, unread kinds %v", kind.Kind, got.Err, got.Unread)
			}
			for _, to := range got.Targets {
				if slices.Contains(got.Unread, to.Kind) || to.Name == "" || (to.Namespace == "") != builtin.IsClusterScoped(to.Kind.GroupKind()) {
					t.Errorf("%s refers to %+v; unread kinds %v", kind.Kind, to, got.Unread)
				}
			}
			part, err := table.NewDecoder(kind).Decode(data)
			if err != nil {
				t.Fatalf("%v; encoding/json decodes it", err)
			}
			read := table.Read(e, kind, part)
			if read.UID != got.UID || read.Name != got.Name || !cmp.Equal(read.Unread, got.Unread) || !cmp.Equal(targetsOf(read), targetsOf(got)) {
				t.Errorf("%s %s: whole object %+v, decoded fields %+v", kind.Kind, data, got, read)
			}
		}
	})
}

// targetsOf returns the targets in a fixed order: expressions iterate over maps in any order.
func targetsOf(r references.Referrer) []string {
	var all []string
	for _, to := range r.Targets {
		all = append(all, strings.Join([]string{string(to.Kind), to.Namespace, to.Name}, " "))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
