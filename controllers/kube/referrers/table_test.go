// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var (
	accountKind = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
	gatewayKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"}
	appKind     = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}
	classKind   = schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}
)

// newTable returns the Table of rules that ask about references to ConfigMaps and Secrets.
func newTable(t testing.TB, declared ...references.Declared) *extract.Table {
	t.Helper()
	table, refused := extract.NewTable(fixture.Compiler(t), declared, both)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	return table
}

// everything is what rules can ask about the kinds of Kubernetes.
func everything() references.Asked { return references.Answered(references.BuiltIn()) }

func secret(namespace, name string) references.Target {
	return references.Target{Kind: references.Secret, Namespace: namespace, Name: name}
}

func configMap(namespace, name string) references.Target {
	return references.Target{Kind: references.ConfigMap, Namespace: namespace, Name: name}
}

func TestTableHasWhatIsBuiltInAndWhatIsDeclared(t *testing.T) {
	table := newTable(t,
		references.Declared{From: appKind, To: references.Secret, Names: "[object.spec.secret]"},
		references.Declared{From: appKind, To: references.Secret, Names: "[object.spec.secret]"},
		references.Declared{From: accountKind, To: references.ConfigMap, Names: "[object.metadata.name]"})
	kindsOfTargets := both.Kinds()
	expect.Equal(t, "targets of a kind with a PodSpec", kindsOfTargets, table.About(fixture.Pods))
	expect.Equal(t, "targets of a built-in kind with a declaration", kindsOfTargets, table.About(accountKind))
	expect.Equal(t, "targets of a declared kind", kindsOfTargets[1:], table.About(appKind))
	expect.Equal(t, "targets of another kind", nil, table.About(fixture.Nodes))
	kinds := table.Kinds()
	expect.Equal(t, "kinds", 28, len(kinds))
	for _, d := range references.BuiltIn() {
		if len(d.About(both)) > 0 && !slices.Contains(kinds, d.From) {
			t.Errorf("%s is missing", d.From)
		}
	}
}

// TestTableIsTheSameEachTime: otherwise each change of a policy could list objects again. Of a kind at several versions, one tells
// whether its objects exist: the built-in version, or else the first.
func TestTableIsTheSameEachTime(t *testing.T) {
	scaler := schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}
	plan := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Plan"}
	app := references.KindOf(appKind.GroupKind())
	asked := references.Asked{}
	for _, kind := range []schema.GroupVersionKind{scaler, plan, appKind} {
		asked[references.KindOf(kind.GroupKind())] = policy.AsksTargets
	}
	declared := []references.Declared{
		{From: scaler, To: references.Secret, Names: "[object.spec.secret]"},
		{From: appKind, To: references.Secret, Names: "[object.spec.secret]"},
		{From: appKind.GroupKind().WithVersion("v2"), To: references.Secret, Names: "[object.spec.secret]"},
		{From: plan, To: references.KindOf(scaler.GroupKind()), Names: "[object.spec.scaler]"},
		{From: plan, To: app, Names: "[object.spec.app]"},
	}
	var first map[string]*extract.Row
	for range 20 {
		table, refused := extract.NewTable(fixture.Compiler(t), declared, asked)
		expect.Equal(t, "refused", 0, len(refused))
		for kind, want := range map[schema.GroupVersionKind]bool{
			scaler: false, scaler.GroupKind().WithVersion("v2"): true, appKind: true, appKind.GroupKind().WithVersion("v2"): false,
		} {
			tells := slices.Contains(table.About(kind), references.KindOf(plan.GroupKind()))
			expect.Equal(t, kind.String()+" tells whether targets of Plans exist", want, tells)
		}
		if first == nil {
			first = table.Rows()
		}
		expect.Equal(t, "rows", slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(table.Rows())))
	}
}

// TestTableReadsTargetsOfObjects reads the references of whole objects, and of the fields that a watch decodes.
func TestTableReadsTargetsOfObjects(t *testing.T) {
	table := newTable(t,
		references.Declared{From: appKind, To: references.Secret, Names: "object.spec.secrets"},
		references.Declared{From: appKind, To: references.ConfigMap, Names: "object.?spec.?config.orValue([])"},
		references.Declared{From: fixture.Secrets, To: references.Secret, Names: "[object.metadata.labels.twin]"})
	for name, test := range map[string]struct {
		kind    schema.GroupVersionKind
		object  string
		targets []references.Target
		fails   string
	}{
		"in its own namespace": {appKind, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"secrets":["x","y"],"config":["c"]}}`,
			[]references.Target{configMap("shop", "c"), secret("shop", "x"), secret("shop", "y")}, ""},
		"in another namespace": {appKind, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"secrets":[{"name":"x","namespace":"certs"},{"name":"y"}]}}`,
			[]references.Target{secret("certs", "x"), secret("shop", "y")}, ""},
		"with a namespace, from a cluster-scoped object": {appKind, `{"metadata":{"name":"a"},"spec":{"secrets":[{"name":"x","namespace":"certs"}]}}`,
			[]references.Target{secret("certs", "x")}, ""},
		"without a namespace": {appKind, `{"metadata":{"name":"a"},"spec":{"secrets":["x"],"config":[]}}`, nil, `the reference to Secret "x" has no namespace`},
		"no references":       {appKind, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"secrets":[]}}`, nil, ""},
		"one of two kinds unknown": {appKind, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"config":["c"]}}`,
			[]references.Target{configMap("shop", "c")}, "no such key: secrets"},
		"a Pod": {fixture.Pods, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"volumes":[{"configMap":{"name":"c"}}],"imagePullSecrets":[{"name":"x"}]}}`,
			[]references.Target{configMap("shop", "c"), secret("shop", "x")}, ""},
		"the metadata of a Secret": {fixture.Secrets, `{"metadata":{"namespace":"shop","name":"a","labels":{"twin":"b"}},"data":{"key":"dmFsdWU="}}`,
			[]references.Target{secret("shop", "b")}, ""},
		"an invalid name": {appKind, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"secrets":["shop/x"]}}`, nil, `no object can have the name "shop/x"`},
		"an invalid name in a Pod": {fixture.Pods, `{"metadata":{"namespace":"shop","name":"a"},"spec":{"volumes":[{"configMap":{"name":"A"}},{"configMap":{"name":"c"}}]}}`,
			[]references.Target{configMap("shop", "c")}, ""},
		"a name without a namespace in a built-in field": {classKind, `{"metadata":{"name":"a"},"parameters":{"secretName":"x","adminSecretName":"y","adminSecretNamespace":"csi"}}`,
			[]references.Target{secret("csi", "y")}, ""},
		"the owners of a Secret": {fixture.Secrets, `{"metadata":{"namespace":"shop","name":"a","labels":{"twin":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c"}]}}`,
			[]references.Target{configMap("shop", "c"), secret("shop", "b")}, ""},
		"a kind that is not in the table": {fixture.Nodes, `{"metadata":{"name":"a"}}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := fixture.Compiler(t).NewEvaluator(t.Context())
			defer e.Close()
			part, err := table.NewDecoder(test.kind).Decode([]byte(test.object))
			expect.NoError(t, err)
			var whole map[string]any
			expect.NoError(t, json.Unmarshal([]byte(test.object), &whole))
			for form, object := range map[string]map[string]any{"a part": part, "the whole": whole} {
				r := table.Read(e, test.kind, object)
				expect.Equal(t, "targets by "+form, test.targets, r.Targets)
				expect.Equal(t, "name", "a", r.Name.Name)
				expect.Equal(t, "kind", test.kind.Kind, r.Name.Kind)
				if (r.Err != nil) != (test.fails != "") || r.Err != nil && !strings.Contains(r.Err.Error(), test.fails) {
					t.Errorf("error %v, want %q", r.Err, test.fails)
				}
			}
		})
	}
}

// TestFailingExpressionKeepsEveryNamespace: an expression may name an object of any namespace. If it fails on an object of one
// namespace, the Secrets of all namespaces are kept. ConfigMaps are not affected.
func TestFailingExpressionKeepsEveryNamespace(t *testing.T) {
	table := newTable(t, references.Declared{From: appKind, To: references.Secret, Names: "[object.spec.secret]"})
	e := fixture.Compiler(t).NewEvaluator(t.Context())
	defer e.Close()
	read := func(namespace, spec string) references.Referrer {
		return table.Read(e, appKind, map[string]any{
			"metadata": map[string]any{"namespace": namespace, "name": "app", "uid": namespace}, "spec": map[string]any{spec: "used"}})
	}
	index := references.New(clocktesting.NewFakePassiveClock(time.Now()))
	index.Expect("App", references.Secret)
	index.Expect("Pod", references.ConfigMap)
	index.Replace("Pod", nil)
	index.Replace("App", []references.Referrer{read("team-a", "secret"), read("team-b", "typo")})
	for _, namespace := range []string{"team-a", "team-b", "team-c"} {
		if u := index.Of(secret(namespace, "other")); u.Doubt == nil {
			t.Errorf("a Secret of %s counts as unused: %+v", namespace, u)
		}
		if u := index.Of(configMap(namespace, "other")); u.Doubt != nil {
			t.Errorf("a ConfigMap of %s is kept: %v", namespace, u.Doubt)
		}
	}
	index.Put("App", read("team-b", "secret"))
	if u := index.Of(secret("team-c", "other")); u.Doubt != nil || u.Count != 0 {
		t.Errorf("after the object was fixed: %+v", u)
	}
}

func TestDecoderReadsNoMoreThanNeeded(t *testing.T) {
	table := newTable(t, references.Declared{From: appKind, To: references.Secret, Names: "[object.spec.secret]"})
	const object = `{"metadata":{"namespace":"shop","name":"a","uid":"u","resourceVersion":"7","finalizers":["f"],"labels":{"a":"b"}},
		"spec":{"secret":"x","more":{"a":[1]}},"status":{"phase":"Up"}}`
	got, err := table.NewDecoder(appKind).Decode([]byte(object))
	expect.NoError(t, err)
	expect.Equal(t, "object", map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "u", "resourceVersion": "7"},
		"spec":     map[string]any{"secret": "x"},
	}, got)
}

func TestTableRefusesInvalidDeclarations(t *testing.T) {
	for name, test := range map[string]struct {
		declared references.Declared
		want     string
	}{
		"a syntax error":                     {references.Declared{From: appKind, To: references.Secret, Names: "object.spec."}, "names:1"},
		"an invalid selector":                {references.Declared{From: appKind, To: references.Secret, Selector: "object."}, "selector:1"},
		"no expression":                      {references.Declared{From: appKind, To: references.Secret}, "missing"},
		"no kind":                            {references.Declared{From: schema.GroupVersionKind{Version: "v1"}, To: references.Secret, Names: "[]"}, "needs a version and a kind"},
		"no version":                         {references.Declared{From: schema.GroupVersionKind{Kind: "App"}, To: references.Secret, Names: "[]"}, "needs a version and a kind"},
		"the data of Secrets":                {references.Declared{From: fixture.Secrets, To: references.Secret, Names: "object.data.map(k, k)"}, "more of a Secret than its metadata: data"},
		"a selector for the data of Secrets": {references.Declared{From: fixture.Secrets, To: references.Secret, Selector: "object.data"}, "selector reads more of a Secret than its metadata: data"},
		"everything about Secrets":           {references.Declared{From: fixture.Secrets, To: references.Secret, Names: "secretsIn(object)"}, "more of a Secret than its metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			table, refused := extract.NewTable(fixture.Compiler(t), []references.Declared{test.declared}, both)
			if len(refused) != 1 || !strings.Contains(refused[0].Err.Error(), test.want) {
				t.Fatalf("refused %v, want %q", refused, test.want)
			}
			expect.Equal(t, "declaration", test.declared, refused[0].Declared)
			expect.Equal(t, "about", []references.Kind{references.Secret}, refused[0].UnknownAbout(both))
			expect.Equal(t, "kinds", len(newTable(t).Kinds()), len(table.Kinds()))
		})
	}
}
