// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// podSpec has one reference of each form.
const podSpec = `{
  imagePullSecrets: [{name: registry}],
  volumes: [{name: v, configMap: {name: site}}, {name: s, secret: {secretName: tls}},
    {name: d, csi: {driver: d, volumeAttributes: {secretName: driver, secretNamespace: csi}}}, {name: e, csi: {driver: d, volumeAttributes: {shareName: e}}}],
  containers: [{name: c, envFrom: [{configMapRef: {name: flags}}, {secretRef: {name: token}}]}]
}`

const (
	listenerSet = `{spec: {parentRef: {name: a}, listeners: [{name: a, tls: {certificateRefs: [{name: a-tls}]}}, {name: b}]}}`
	owned       = `{metadata: {name: a, namespace: shop, ownerReferences: [{apiVersion: v1, kind: Secret, name: root}, {apiVersion: v1, kind: ConfigMap, name: index},
		{apiVersion: v1, kind: Pod, name: web}, {apiVersion: example.org/v1, kind: Secret, name: other}]}}`
)

func inEither(configMaps, secrets []engine.Reference) map[references.Kind][]engine.Reference {
	return map[references.Kind][]engine.Reference{references.ConfigMap: configMaps, references.Secret: secrets}
}

var (
	inPodSpecs = map[references.Kind][]engine.Reference{
		references.ConfigMap: {{Name: "site"}, {Name: "flags"}},
		references.Secret:    {{Name: "registry"}, {Name: "tls"}, {Name: "token"}, {Namespace: "csi", Name: "driver"}},
	}

	limits   = inEither([]engine.Reference{{Namespace: "policies", Name: "limits"}}, []engine.Reference{{Namespace: "policies", Name: "limits"}})
	inOwners = inEither([]engine.Reference{{Name: "index"}}, []engine.Reference{{Name: "root"}})

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
		"Ingress": {`{spec: {tls: [{hosts: [a], secretName: a-tls}, {hosts: [b]}, {secretName: A B}],
			defaultBackend: {resource: {kind: ConfigMap, name: fallback}},
			rules: [{host: a}, {http: {paths: [{backend: {service: {name: a}}}, {backend: {resource: {kind: Secret, name: a}}}, {backend: {resource: {kind: ConfigMap, name: b}}}]}}]}}`,
			inEither([]engine.Reference{{Name: "b"}, {Name: "fallback"}}, []engine.Reference{{Name: "a-tls"}, {Name: "a"}})},
		"IngressClass": {`{spec: {parameters: {apiGroup: "", kind: ConfigMap, scope: Namespace, namespace: ingress, name: settings}}}`,
			inEither([]engine.Reference{{Namespace: "ingress", Name: "settings"}}, nil)},
		"ValidatingAdmissionPolicyBinding": {`{spec: {policyName: a, paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}}}`, limits},
		"MutatingAdmissionPolicyBinding":   {`{spec: {policyName: a, paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}}}`, limits},
		"PersistentVolume": {`{
			metadata: {annotations: {volume.kubernetes.io/provisioner-deletion-secret-name: admin, volume.kubernetes.io/provisioner-deletion-secret-namespace: csi}},
			spec: {claimRef: {namespace: shop}, csi: {nodeStageSecretRef: {name: stage, namespace: csi}, volumeAttributes: {secretName: share, secretNamespace: csi}},
				cephfs: {secretRef: {name: ceph}}, azureFile: {secretName: azure, secretNamespace: null}}}`,
			inEither(nil, []engine.Reference{{Namespace: "csi", Name: "stage"}, {Namespace: "shop", Name: "ceph"}, {Namespace: "shop", Name: "azure"},
				{Namespace: "csi", Name: "share"}, {Namespace: "csi", Name: "admin"}})},
		"VolumeAttachment": {`{spec: {source: {inlineVolumeSpec: {csi: {controllerPublishSecretRef: {name: attach, namespace: csi}}, azureFile: {secretName: azure, secretNamespace: files}}}}}`,
			inEither(nil, []engine.Reference{{Namespace: "csi", Name: "attach"}, {Namespace: "files", Name: "azure"}})},
		"StorageClass": {`{parameters: {type: fast, csi.storage.k8s.io/provisioner-secret-name: admin, csi.storage.k8s.io/provisioner-secret-namespace: csi,
			csi.storage.k8s.io/node-stage-secret-name: "${pvc.name}", csi.storage.k8s.io/node-stage-secret-namespace: csi,
			csi.storage.k8s.io/node-publish-secret-name: pull, csi.storage.k8s.io/node-publish-secret-namespace: "${pvc.namespace}",
			adminSecretName: ceph, adminSecretNamespace: kube-system, SECRETNAME: rest, secretNamespace: files}}`,
			inEither(nil, []engine.Reference{{Namespace: "files", Name: "rest"}, {Namespace: "kube-system", Name: "ceph"}, {Namespace: "csi", Name: "admin"}})},
		"Gateway": {`{spec: {
			listeners: [{name: a, tls: {certificateRefs: [{name: a-tls}, {kind: Other, name: b}, {name: c-tls, namespace: certs}]}}, {name: b},
				{name: c, tls: {frontendValidation: {caCertificateRefs: [{kind: ConfigMap, name: old-ca}]}}}],
			infrastructure: {parametersRef: {group: "", kind: ConfigMap, name: proxy}},
			tls: {backend: {clientCertificateRef: {name: client}},
				frontend: {default: {validation: {caCertificateRefs: [{kind: ConfigMap, name: ca, namespace: certs}, {kind: Secret, name: ca}]}},
					perPort: [{port: 443}, {port: 8443, tls: {validation: {caCertificateRefs: [{kind: ConfigMap, name: port-ca}]}}}]}}}}`,
			inEither([]engine.Reference{{Name: "old-ca"}, {Name: "port-ca"}, {Namespace: "certs", Name: "ca"}, {Name: "proxy"}},
				[]engine.Reference{{Name: "a-tls"}, {Namespace: "certs", Name: "c-tls"}, {Name: "ca"}, {Name: "client"}})},
		"GatewayClass": {`{spec: {parametersRef: {group: "", kind: ConfigMap, name: gateways, namespace: edge}}}`,
			inEither([]engine.Reference{{Namespace: "edge", Name: "gateways"}}, nil)},
		"BackendTLSPolicy": {`{spec: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}, {group: "", kind: Secret, name: ca-too}]}}}`,
			inEither([]engine.Reference{{Name: "ca"}}, []engine.Reference{{Name: "ca-too"}})},
		"ListenerSet":  {listenerSet, inEither(nil, []engine.Reference{{Name: "a-tls"}})},
		"XListenerSet": {listenerSet, inEither(nil, []engine.Reference{{Name: "a-tls"}})},
		"ConfigMap":    {owned, inOwners},
		"Secret":       {owned, inOwners},
	}
)

// builtIn reads objects with all built-in expressions of their kind.
type builtIn struct {
	*testing.T
	compiler *engine.Compiler
}

func newBuiltIn(t *testing.T) builtIn {
	compiler := fixture.Compiler(t)
	return builtIn{t, compiler}
}

func (b builtIn) read(kind string, object map[string]any) (map[references.Kind][]engine.Reference, error) {
	b.Helper()
	evaluator := b.compiler.NewEvaluator(b.Context())
	defer evaluator.Close()
	all := map[references.Kind][]engine.Reference{}
	for _, d := range references.BuiltIn() {
		if d.From.Kind != kind {
			continue
		}
		extractor, problems := b.compiler.Extractor(d.Names, "names")
		if len(problems) > 0 {
			b.Fatalf("%s: %v", d.Names, problems)
		}
		found, err := evaluator.References(extractor.Lenient(), object)
		if err != nil {
			return nil, err
		}
		if all[d.To] = append(all[d.To], found...); d.From.Kind == "Secret" && !extractor.MetadataOnly() {
			b.Error("an expression reads more of Secrets than their metadata")
		}
	}
	return all, nil
}

// TestBuiltInReferrers: the expressions of each kind return the references of an object, none for an object without references,
// and an error if they cannot read the object.
func TestBuiltInReferrers(t *testing.T) {
	table := newBuiltIn(t)
	for _, d := range references.BuiltIn() {
		if _, known := referring[d.From.Kind]; !known {
			t.Errorf("the test has no object of kind %s", d.From.Kind)
		}
	}
	sorted := cmpopts.SortSlices(func(a, b engine.Reference) bool { return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name })
	for kind, test := range referring {
		t.Run(kind, func(t *testing.T) {
			got, err := table.read(kind, object(t, test.object, podSpec))
			if diff := cmp.Diff(nonempty(test.want), nonempty(got), sorted); err != nil || diff != "" {
				t.Errorf("%v, -want +got\n%s", err, diff)
			}
			if got, err := table.read(kind, object(t, `{spec: {template: {spec: {}}, jobTemplate: {spec: {template: {spec: {}}}}}, template: {spec: {}}}`, "")); err != nil || len(nonempty(got)) > 0 {
				t.Errorf("empty spec: %v, %v; want nothing", got, err)
			}
			if got, err := table.read(kind, object(t, `{}`, "")); err != nil || len(nonempty(got)) > 0 {
				t.Errorf("no spec: %v, %v; want nothing", got, err)
			}
			if !strings.Contains(test.object, "%s") {
				return
			}
			if got, err := table.read(kind, object(t, test.object, `{containers: [{name: c}]}`)); err != nil || len(nonempty(got)) > 0 {
				t.Errorf("%v, %v; want nothing", got, err)
			}
			if got, err := table.read(kind, object(t, test.object, `{volumes: text, containers: text}`)); err == nil {
				t.Errorf("%v; want an error", got)
			}
		})
	}
}

func nonempty(all map[references.Kind][]engine.Reference) map[references.Kind][]engine.Reference {
	maps.DeleteFunc(all, func(_ references.Kind, list []engine.Reference) bool { return len(list) == 0 })
	return all
}

// TestBuiltInFieldsWithoutTargetsAreNoError: an object that the API server accepts does not make all references unknown.
func TestBuiltInFieldsWithoutTargetsAreNoError(t *testing.T) {
	table := newBuiltIn(t)
	for what, test := range map[string]struct{ kind, object string }{
		"revision with a string":        {"ControllerRevision", `{data: text}`},
		"revision with a list as spec":  {"ControllerRevision", `{data: {spec: [a]}}`},
		"revision without a template":   {"ControllerRevision", `{data: {spec: {template: text}}}`},
		"revision with another spec":    {"ControllerRevision", `{data: {spec: {template: {spec: 7}}}}`},
		"revision without data":         {"ControllerRevision", `{revision: 1}`},
		"revision with null data":       {"ControllerRevision", `{data: null}`},
		"a binding without a namespace": {"ValidatingAdmissionPolicyBinding", `{spec: {paramRef: {name: a}}}`},
		"a binding with a selector":     {"MutatingAdmissionPolicyBinding", `{spec: {paramRef: {namespace: a, selector: {}}}}`},
		"a reference without a name":    {"PersistentVolume", `{spec: {csi: {nodeStageSecretRef: {}}}}`},
	} {
		t.Run(what, func(t *testing.T) {
			if got, err := table.read(test.kind, object(t, test.object, "")); err != nil || len(nonempty(got)) > 0 {
				t.Errorf("%v, %v; want nothing", got, err)
			}
		})
	}
}

func object(t *testing.T, text, spec string) map[string]any {
	t.Helper()
	var m map[string]any
	expect.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "%s", spec)), &m))
	if _, ok := m["metadata"]; !ok {
		m["metadata"] = map[string]any{"namespace": "shop", "name": "test"}
	}
	return m
}
