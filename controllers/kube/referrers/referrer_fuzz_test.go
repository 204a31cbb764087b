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
	"github.com/sunset-k8s/sunset/test/fixture"
)

// FuzzReferrer reads any object as one of each kind that Kubernetes has. Nothing may panic; what cannot be read is an error
// that says of which kinds, and gives no reference of these; and the part of the object that is read says what all of it does.
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
	table, _ := extract.NewTable(c, nil)
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
				t.Errorf("%s: error %v, unread %v", kind.Kind, got.Err, got.Unread)
			}
			for _, to := range got.Targets {
				if slices.Contains(got.Unread, to.Kind) || to.Name == "" || to.Namespace == "" {
					t.Errorf("%s refers to %+v, and unread are %v", kind.Kind, to, got.Unread)
				}
			}
			part, err := table.NewDecoder(kind).Decode(data)
			if err != nil {
				t.Fatalf("%v for what encoding/json reads", err)
			}
			read := table.Read(e, kind, part)
			if read.UID != got.UID || read.Name != got.Name || !cmp.Equal(read.Unread, got.Unread) || !cmp.Equal(targetsOf(read), targetsOf(got)) {
				t.Errorf("%s %s is %+v; what is read of it is %+v", kind.Kind, data, got, read)
			}
		}
	})
}

// targetsOf forgets the order, which a loop over a map does not have.
func targetsOf(r references.Referrer) []string {
	var all []string
	for _, to := range r.Targets {
		all = append(all, strings.Join([]string{string(to.Kind), to.Namespace, to.Name}, " "))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
