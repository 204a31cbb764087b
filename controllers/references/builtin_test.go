package references_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/references"
	"github.com/sunset-k8s/sunset/engine"
)

// podSpec has one reference of each sort.
const podSpec = `{
  imagePullSecrets: [{name: registry}],
  volumes: [{name: v, configMap: {name: site}}, {name: s, secret: {secretName: tls}}],
  containers: [{name: c, envFrom: [{configMapRef: {name: flags}}, {secretRef: {name: token}}]}]
}`

var (
	inPodSpecs = map[references.Kind][]engine.Reference{
		references.ConfigMap: {{Name: "site"}, {Name: "flags"}},
		references.Secret:    {{Name: "registry"}, {Name: "tls"}, {Name: "token"}},
	}

	referring = map[string]struct {
		object string // %s is podSpec
		want   map[references.Kind][]engine.Reference
	}{
		"Pod":                   {`{spec: %s}`, inPodSpecs},
		"PodTemplate":           {`{template: {spec: %s}}`, inPodSpecs},
		"ReplicationController": {`{spec: {template: {spec: %s}}}`, inPodSpecs},
		"ControllerRevision":    {`{data: {spec: {template: {spec: %s, $patch: replace}}}}`, inPodSpecs},
		"DaemonSet":             {`{spec: {template: {spec: %s}}}`, inPodSpecs},
		"Deployment":            {`{spec: {replicas: 0, template: {spec: %s}}}`, inPodSpecs},
		"ReplicaSet":            {`{spec: {replicas: 0, template: {spec: %s}}}`, inPodSpecs},
		"StatefulSet":           {`{spec: {template: {spec: %s}}}`, inPodSpecs},
		"CronJob":               {`{spec: {suspend: true, jobTemplate: {spec: {template: {spec: %s}}}}}`, inPodSpecs},
		"Job":                   {`{spec: {template: {spec: %s}}}`, inPodSpecs},
		"ServiceAccount": {`{secrets: [{name: token}], imagePullSecrets: [{name: registry}]}`,
			map[references.Kind][]engine.Reference{references.Secret: {{Name: "token"}, {Name: "registry"}}}},
		"Ingress": {`{spec: {tls: [{hosts: [a], secretName: a-tls}, {hosts: [b]}]}}`,
			map[references.Kind][]engine.Reference{references.Secret: {{Name: "a-tls"}}}},
		"PersistentVolume": {`{
			metadata: {annotations: {volume.kubernetes.io/provisioner-deletion-secret-name: admin, volume.kubernetes.io/provisioner-deletion-secret-namespace: csi}},
			spec: {claimRef: {namespace: shop}, csi: {nodeStageSecretRef: {name: stage, namespace: csi}}, azureFile: {secretName: azure}}}`,
			map[references.Kind][]engine.Reference{references.Secret: {{Namespace: "csi", Name: "stage"}, {Namespace: "shop", Name: "azure"}, {Namespace: "csi", Name: "admin"}}}},
		"StorageClass": {`{parameters: {type: fast, csi.storage.k8s.io/provisioner-secret-name: admin, csi.storage.k8s.io/provisioner-secret-namespace: csi,
			csi.storage.k8s.io/node-stage-secret-name: "${pvc.name}", csi.storage.k8s.io/node-stage-secret-namespace: csi}}`,
			map[references.Kind][]engine.Reference{references.Secret: {{Namespace: "csi", Name: "admin"}}}},
		"Gateway": {`{spec: {listeners: [{name: a, tls: {certificateRefs: [{name: a-tls}, {kind: Other, name: b}, {name: c-tls, namespace: certs}]}}, {name: b}]}}`,
			map[references.Kind][]engine.Reference{references.Secret: {{Name: "a-tls"}, {Namespace: "certs", Name: "c-tls"}}}},
	}
)

// TestBuiltInReferrers: each kind of the table gives what one of its objects refers to, and nothing of an object that refers
// to nothing, and is an error where it cannot tell.
func TestBuiltInReferrers(t *testing.T) {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	evaluator := compiler.NewEvaluator(t.Context())
	defer evaluator.Close()
	for _, d := range references.BuiltIn() {
		t.Run(d.From.Kind+" to "+string(d.To), func(t *testing.T) {
			extractor, problems := compiler.Extractor(d.Names, "names")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			test, known := referring[d.From.Kind]
			if !known {
				t.Fatal("there is no object of it to be tested with")
			}
			got, err := evaluator.References(extractor, object(t, test.object, podSpec))
			if diff := cmp.Diff(test.want[d.To], got); err != nil || diff != "" {
				t.Errorf("%v, -want +got\n%s", err, diff)
			}
			if !strings.Contains(test.object, "%s") {
				return
			}
			if got, err := evaluator.References(extractor, object(t, test.object, `{containers: [{name: c}]}`)); err != nil || len(got) > 0 {
				t.Errorf("%v, %v; want nothing", got, err)
			}
			if got, err := evaluator.References(extractor, object(t, test.object, `{volumes: text, containers: text}`)); err == nil {
				t.Errorf("%v; want an error", got)
			}
		})
	}
}

func object(t *testing.T, text, spec string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "%s", spec)), &m); err != nil {
		t.Fatal(err)
	}
	if _, ok := m["metadata"]; !ok {
		m["metadata"] = map[string]any{"namespace": "shop", "name": "test"}
	}
	return m
}
