// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// podSpec has one reference of each form.
const podSpec = `{
  serviceAccountName: web, priorityClassName: high, runtimeClassName: sandbox,
  resourceClaims: [{name: a, resourceClaimName: gpu}, {name: b, resourceClaimTemplateName: gpus}],
  imagePullSecrets: [{name: registry}],
  volumes: [{name: v, configMap: {name: site}}, {name: s, secret: {secretName: tls}},
    {name: d, csi: {driver: d, volumeAttributes: {secretName: driver, secretNamespace: csi}}}, {name: e, csi: {driver: d, volumeAttributes: {shareName: e, secretname: files}}}, {name: i, csi: {driver: d, volumeAttributes: {secretName: key, secretnamespace: keys}}},
    {name: f, persistentVolumeClaim: {claimName: data}}, {name: g, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast,
      volumeAttributesClassName: gold, dataSource: {kind: PersistentVolumeClaim, name: seed}, dataSourceRef: {kind: PersistentVolumeClaim, name: seed, namespace: seeds}}}}},
    {name: h, ephemeral: {volumeClaimTemplate: {spec: {dataSource: {kind: VolumeSnapshot, name: h}}}}}],
  containers: [{name: c, envFrom: [{configMapRef: {name: flags}}, {secretRef: {name: token}}],
    resources: {requests: {cpu: "1", deviceclass.resource.kubernetes.io/gpu: 1}, limits: {example.com/npu: 1}}}],
  initContainers: [{name: d, resources: {limits: {deviceclass.resource.kubernetes.io/npu: "1"}}}]
}`

const (
	listenerSet = `{spec: {parentRef: {name: a}, listeners: [{name: a, tls: {certificateRefs: [{name: a-tls}]}}, {name: b}]}}`
	webhooks    = `{webhooks: [{clientConfig: {service: {name: check, namespace: hooks}}}, {clientConfig: {url: "https://example.com"}}]}`
	route       = `{spec: {parentRefs: [{name: edge, namespace: infra}, {kind: Service, name: mesh}], rules: [{backendRefs: [{name: web}, {group: example.com, kind: Backend, name: b}, {kind: Service, name: api, namespace: other}],
		filters: [{type: RequestMirror, requestMirror: {backendRef: {name: shadow}}}, {type: URLRewrite}, {type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: auth, namespace: infra}}}]},
		{backendRefs: [{name: web, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: copy}}}, {type: ExternalAuth, externalAuth: {backendRef: {name: check}}}]}]}]}}`
	owned = `{metadata: {name: a, namespace: shop, annotations: {kubernetes.io/service-account.name: deployer}, ownerReferences: [{apiVersion: v1, kind: Secret, name: root}, {apiVersion: v1, kind: ConfigMap, name: index},
		{apiVersion: v1, kind: Pod, name: web}, {apiVersion: example.org/v1, kind: Secret, name: other}]}}`
)

// want has the references to each kind.
type want map[string][]engine.Reference

// named returns references to objects of a kind in the namespace of the referrer.
func named(names ...string) (all []engine.Reference) {
	for _, name := range names {
		all = append(all, engine.Reference{Name: name})
	}
	return all
}

// numbered returns references to objects whose names end in the first numbers.
func numbered(prefix string, n int) (all []engine.Reference) {
	for i := range n {
		all = append(all, engine.Reference{Name: fmt.Sprintf("%s%d", prefix, i)})
	}
	return all
}

// and adds references to another kind.
func (w want) and(kind string, all ...engine.Reference) want {
	w = maps.Clone(w)
	w[kind] = all
	return w
}

func inEither(configMaps, secrets []engine.Reference) want {
	return want{"ConfigMap": configMaps, "Secret": secrets}
}

var (
	inPodSpecs = want{
		"ConfigMap":      {{Name: "site"}, {Name: "flags"}},
		"Secret":         {{Name: "registry"}, {Name: "tls"}, {Name: "token"}, {Namespace: "csi", Name: "driver"}, {Name: "files"}, {Namespace: "keys", Name: "key"}},
		"ServiceAccount": named("web"), "StorageClass": named("fast"), "VolumeAttributesClass": named("gold"), "PriorityClass": named("high"),
		"PersistentVolumeClaim": {{Name: "data"}, {Name: "seed"}, {Namespace: "seeds", Name: "seed"}},
		"RuntimeClass":          named("sandbox"), "ResourceClaim": named("gpu"), "ResourceClaimTemplate": named("gpus"), "DeviceClass": named("gpu", "npu"),
	}

	ofRoute = want{"Gateway": {{Namespace: "infra", Name: "edge"}}, "Service": {{Name: "web"}, {Name: "web"}, {Namespace: "other", Name: "api"}, {Name: "mesh"},
		{Name: "shadow"}, {Namespace: "infra", Name: "auth"}, {Name: "copy"}, {Name: "check"}}}
	limits   = inEither([]engine.Reference{{Namespace: "policies", Name: "limits"}}, []engine.Reference{{Namespace: "policies", Name: "limits"}})
	inOwners = inEither([]engine.Reference{{Name: "index"}}, []engine.Reference{{Name: "root"}})

	// The key is the kind, and perhaps which fields of it the object has.
	referring = map[string]struct {
		object string // %s is podSpec
		want   want
	}{
		"Pod": {`{metadata: {name: a}, spec: %s}`, inPodSpecs.and("PersistentVolumeClaim", append(named("data", "a-g", "a-h", "seed"), engine.Reference{Namespace: "seeds", Name: "seed"})...)},
		"Pod: its status": {`{status: {resourceClaimStatuses: [{name: b, resourceClaimName: a-gpus}], extendedResourceClaimStatus: {resourceClaimName: a-extended}}}`,
			want{"ResourceClaim": named("a-gpus", "a-extended")}},
		"PodTemplate":           {`{template: {spec: %s}}`, inPodSpecs},
		"ReplicationController": {`{spec: {template: {spec: %s}}}`, inPodSpecs},
		"ControllerRevision":    {`{data: {spec: {template: {spec: %s, $patch: replace}}}}`, inPodSpecs},
		"DaemonSet":             {`{spec: {template: {spec: %s}}}`, inPodSpecs},
		"Deployment":            {`{spec: {replicas: 0, template: {spec: %s}}}`, inPodSpecs},
		"ReplicaSet":            {`{spec: {replicas: 0, template: {spec: %s}}}`, inPodSpecs},
		"StatefulSet":           {`{spec: {replicas: 0, template: {spec: %s}}}`, inPodSpecs},
		"StatefulSet: its own fields": {`{spec: {serviceName: db, volumeClaimTemplates: [{spec: {storageClassName: slow, volumeAttributesClassName: gold}},
			{metadata: {name: data}, spec: {dataSource: {kind: PersistentVolumeClaim, name: seed}, dataSourceRef: {kind: PersistentVolumeClaim, name: seed, namespace: seeds}}}]}}`,
			want{"Service": named("db"), "StorageClass": named("slow"), "VolumeAttributesClass": named("gold"),
				"PersistentVolumeClaim": append(numbered("data-test-", 20), engine.Reference{Name: "seed"}, engine.Reference{Namespace: "seeds", Name: "seed"})}},
		"StatefulSet: many replicas": {`{spec: {replicas: 30, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}, {metadata: {name: log}, spec: {}}]}}`,
			want{"PersistentVolumeClaim": append(numbered("data-test-", 30), numbered("log-test-", 30)...)}},
		"StatefulSet: numbers from 40": {`{spec: {replicas: 3, ordinals: {start: 40}, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]}}`,
			want{"PersistentVolumeClaim": numbered("data-test-", 60)}},
		"StatefulSet: as many claims as possible": {`{spec: {replicas: 1000, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]}}`,
			want{"PersistentVolumeClaim": numbered("data-test-", 1000)}},
		"StatefulSet: more claims than Sunset reads": {`{spec: {replicas: 2147483647, ordinals: {start: 2147483647}, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}, {metadata: {name: log}, spec: {}}]}}`,
			want{"PersistentVolumeClaim": append(numbered("data-test-", 500), numbered("log-test-", 500)...)}},
		"CronJob": {`{spec: {suspend: true, jobTemplate: {spec: {template: {spec: %s}}}}}`, inPodSpecs},
		"Job":     {`{spec: {template: {spec: %s}}}`, inPodSpecs},
		"ServiceAccount": {`{secrets: [{name: token}], imagePullSecrets: [{name: registry}]}`,
			want{"Secret": named("token", "registry")}},
		"Ingress": {`{spec: {tls: [{hosts: [a], secretName: a-tls}, {hosts: [b]}, {secretName: A B}],
			defaultBackend: {resource: {kind: ConfigMap, name: fallback}},
			ingressClassName: nginx, rules: [{host: a}, {http: {paths: [{backend: {service: {name: a}}}, {backend: {resource: {kind: Secret, name: a}}}, {backend: {resource: {kind: ConfigMap, name: b}}}]}}]}}`,
			inEither(named("b", "fallback"), named("a-tls", "a")).and("Service", named("a")...).and("IngressClass", named("nginx")...)},
		"IngressClass": {`{spec: {parameters: {apiGroup: "", kind: ConfigMap, scope: Namespace, namespace: ingress, name: settings}}}`,
			inEither([]engine.Reference{{Namespace: "ingress", Name: "settings"}}, nil)},
		"ValidatingAdmissionPolicyBinding": {`{spec: {policyName: a, paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}}}`, limits.and("ValidatingAdmissionPolicy", named("a")...)},
		"MutatingAdmissionPolicyBinding":   {`{spec: {policyName: a, paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}}}`, limits.and("MutatingAdmissionPolicy", named("a")...)},
		"PersistentVolume": {`{
			metadata: {annotations: {volume.kubernetes.io/provisioner-deletion-secret-name: admin, volume.kubernetes.io/provisioner-deletion-secret-namespace: csi}},
			spec: {storageClassName: fast, volumeAttributesClassName: gold, claimRef: {namespace: shop}, csi: {nodeStageSecretRef: {name: stage, namespace: csi}, volumeAttributes: {secretName: share, secretNamespace: csi}},
				cephfs: {secretRef: {name: ceph}}, azureFile: {secretName: azure, secretNamespace: null}}}`,
			inEither(nil, []engine.Reference{{Namespace: "csi", Name: "stage"}, {Namespace: "shop", Name: "ceph"}, {Namespace: "shop", Name: "azure"},
				{Namespace: "csi", Name: "share"}, {Namespace: "csi", Name: "admin"}}).and("StorageClass", named("fast")...).and("VolumeAttributesClass", named("gold")...)},
		"PersistentVolume: attributes in lower case": {`{spec: {claimRef: {namespace: shop}, csi: {driver: file.csi.azure.com, volumeAttributes: {secretname: azure, secretnamespace: files}}}}`,
			inEither(nil, []engine.Reference{{Namespace: "files", Name: "azure"}})},
		"PersistentVolume: an attribute without a namespace": {`{spec: {claimRef: {namespace: shop}, csi: {driver: file.csi.azure.com, volumeAttributes: {SecretName: azure, secretnamespace: ""}}}}`,
			inEither(nil, []engine.Reference{{Namespace: "shop", Name: "azure"}})},
		"VolumeAttachment": {`{spec: {nodeName: worker, source: {inlineVolumeSpec: {csi: {controllerPublishSecretRef: {name: attach, namespace: csi}}, azureFile: {secretName: azure, secretNamespace: files}}, persistentVolumeName: pv}}}`,
			inEither(nil, []engine.Reference{{Namespace: "csi", Name: "attach"}, {Namespace: "files", Name: "azure"}}).and("Node", named("worker")...).and("PersistentVolume", named("pv")...)},
		"StorageClass": {`{parameters: {type: fast, csi.storage.k8s.io/provisioner-secret-name: admin, csi.storage.k8s.io/provisioner-secret-namespace: csi,
			csi.storage.k8s.io/node-stage-secret-name: "${pvc.name}", csi.storage.k8s.io/node-stage-secret-namespace: csi,
			csi.storage.k8s.io/node-publish-secret-name: pull, csi.storage.k8s.io/node-publish-secret-namespace: "${pvc.namespace}",
			adminSecretName: ceph, adminSecretNamespace: kube-system, SECRETNAME: rest, secretNamespace: files}}`,
			inEither(nil, []engine.Reference{{Namespace: "files", Name: "rest"}, {Namespace: "kube-system", Name: "ceph"}, {Namespace: "csi", Name: "admin"}})},
		"Gateway": {`{spec: {gatewayClassName: edge,
			listeners: [{name: a, tls: {certificateRefs: [{name: a-tls}, {kind: Other, name: b}, {name: c-tls, namespace: certs}]}}, {name: b},
				{name: c, tls: {frontendValidation: {caCertificateRefs: [{kind: ConfigMap, name: old-ca}]}}}],
			infrastructure: {parametersRef: {group: "", kind: ConfigMap, name: proxy}},
			tls: {backend: {clientCertificateRef: {name: client}},
				frontend: {default: {validation: {caCertificateRefs: [{kind: ConfigMap, name: ca, namespace: certs}, {kind: Secret, name: ca}]}},
					perPort: [{port: 443}, {port: 8443, tls: {validation: {caCertificateRefs: [{kind: ConfigMap, name: port-ca}]}}}]}}}}`,
			inEither([]engine.Reference{{Name: "old-ca"}, {Name: "port-ca"}, {Namespace: "certs", Name: "ca"}, {Name: "proxy"}},
				[]engine.Reference{{Name: "a-tls"}, {Namespace: "certs", Name: "c-tls"}, {Name: "ca"}, {Name: "client"}}).and("GatewayClass", named("edge")...)},
		"GatewayClass": {`{spec: {parametersRef: {group: "", kind: ConfigMap, name: gateways, namespace: edge}}}`,
			inEither([]engine.Reference{{Namespace: "edge", Name: "gateways"}}, nil)},
		"BackendTLSPolicy": {`{spec: {targetRefs: [{group: "", kind: Service, name: web}], validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}, {group: "", kind: Secret, name: ca-too}]}}}`,
			inEither(named("ca"), named("ca-too")).and("Service", named("web")...)},
		"ListenerSet":  {listenerSet, inEither(nil, named("a-tls")).and("Gateway", named("a")...)},
		"XListenerSet": {listenerSet, inEither(nil, named("a-tls")).and("Gateway", named("a")...)},
		"ConfigMap":    {owned, inOwners},
		"Secret":       {owned, inOwners.and("ServiceAccount", named("deployer")...)},
		"HTTPRoute":    {route, ofRoute}, "GRPCRoute": {route, ofRoute}, "TLSRoute": {route, ofRoute}, "TCPRoute": {route, ofRoute}, "UDPRoute": {route, ofRoute},
		"RoleBinding": {`{roleRef: {kind: Role, name: reader}, subjects: [{kind: ServiceAccount, name: web}, {kind: ServiceAccount, name: ci, namespace: tools}, {kind: User, name: a}, {kind: User, name: "system:serviceaccount:tools:bot"}]}`,
			want{"Role": named("reader"), "ServiceAccount": {{Name: "web"}, {Namespace: "tools", Name: "ci"}, {Namespace: "tools", Name: "bot"}}}},
		"ClusterRoleBinding": {`{roleRef: {kind: ClusterRole, name: "system:View"}, subjects: [{kind: ServiceAccount, name: ci, namespace: tools}, {kind: Group, name: a}, {kind: User, name: "system:serviceaccount:tools:bot"}, {kind: User, name: "system:node:a:b"}]}`,
			want{"ClusterRole": named("system:View"), "ServiceAccount": {{Namespace: "tools", Name: "ci"}, {Namespace: "tools", Name: "bot"}}}},
		"HorizontalPodAutoscaler":        {`{spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}}}`, want{"StatefulSet": named("db")}},
		"ValidatingWebhookConfiguration": {webhooks, want{"Service": {{Namespace: "hooks", Name: "check"}}}},
		"MutatingWebhookConfiguration":   {webhooks, want{"Service": {{Namespace: "hooks", Name: "check"}}}},
		"APIService":                     {`{spec: {service: {name: metrics, namespace: kube-system}}}`, want{"Service": {{Namespace: "kube-system", Name: "metrics"}}}},
		"CustomResourceDefinition": {`{spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: convert, namespace: hooks}}}}}}`,
			want{"Service": {{Namespace: "hooks", Name: "convert"}}}},
		"EndpointSlice": {`{metadata: {name: a, labels: {kubernetes.io/service-name: legacy, endpointslice.kubernetes.io/managed-by: endpointslicemirroring-controller.k8s.io}}}`,
			want{"Service": named("legacy")}},
		"PersistentVolumeClaim": {`{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: old}}, spec: {volumeName: pv, storageClassName: fast, volumeAttributesClassName: gold, dataSource: {apiGroup: null, kind: PersistentVolumeClaim, name: old},
			dataSourceRef: {kind: PersistentVolumeClaim, name: old, namespace: shop}}}`,
			want{"PersistentVolume": named("pv"), "StorageClass": named("fast", "old"), "VolumeAttributesClass": named("gold"), "PersistentVolumeClaim": {{Name: "old"}, {Namespace: "shop", Name: "old"}}}},
		"VolumeSnapshot": {`{spec: {source: {persistentVolumeClaimName: data}}}`, want{"PersistentVolumeClaim": named("data")}},
		"VolumeSnapshotClass": {`{driver: csi.example.com, parameters: {csi.storage.k8s.io/snapshotter-secret-name: snapshots, csi.storage.k8s.io/snapshotter-secret-namespace: csi,
			csi.storage.k8s.io/snapshotter-list-secret-name: list, csi.storage.k8s.io/snapshotter-list-secret-namespace: csi, type: fast}}`,
			inEither(nil, []engine.Reference{{Namespace: "csi", Name: "snapshots"}, {Namespace: "csi", Name: "list"}})},
		"VolumeSnapshotContent": {`{metadata: {name: a, annotations: {snapshot.storage.kubernetes.io/deletion-secret-name: snapshots, snapshot.storage.kubernetes.io/deletion-secret-namespace: csi}}}`,
			inEither(nil, []engine.Reference{{Namespace: "csi", Name: "snapshots"}})},
		"FlowSchema": {`{spec: {priorityLevelConfiguration: {name: low}}}`, want{"PriorityLevelConfiguration": named("low")}},
		"ResourceClaim": {`{spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu}}, {name: b, deviceClassName: old}, {name: c, firstAvailable: [{deviceClassName: big}, {deviceClassName: small}]}]}}}`,
			want{"DeviceClass": named("gpu", "old", "big", "small")}},
		"ResourceClaimTemplate": {`{spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu}}]}}}}`, want{"DeviceClass": named("gpu")}},
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

func (b builtIn) read(kind string, object map[string]any) (want, error) {
	b.Helper()
	evaluator := b.compiler.NewEvaluator(b.Context())
	defer evaluator.Close()
	all := want{}
	for _, d := range builtin.References() {
		if d.From.Kind != kind || d.Names == "" {
			continue
		}
		extractor, problems := b.compiler.Extractor(d.Names, "names")
		if len(problems) > 0 {
			b.Fatalf("%s: %v", d.Names, problems)
		}
		if builtin.HasAnyName(d.To) {
			extractor = extractor.AnyName()
		}
		found, err := evaluator.References(extractor.Lenient(), object)
		if err != nil {
			return nil, err
		}
		if all[d.To.Kind] = append(all[d.To.Kind], found...); d.From.Kind == "Secret" && !extractor.MetadataOnly() {
			b.Error("an expression reads more of Secrets than their metadata")
		}
	}
	return all, nil
}

// TestBuiltInReferrers: the expressions of each kind return the references of an object, none for an object without references,
// and an error if they cannot read the object.
func TestBuiltInReferrers(t *testing.T) {
	table := newBuiltIn(t)
	for _, d := range builtin.References() {
		if d.Names == "" {
			continue
		}
		if _, known := referring[d.From.Kind]; !known {
			t.Errorf("the test has no object of kind %s", d.From.Kind)
		}
	}
	sorted := cmpopts.SortSlices(func(a, b engine.Reference) bool { return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name })
	for name, test := range referring {
		kind, _, _ := strings.Cut(name, ":")
		t.Run(name, func(t *testing.T) {
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

// nonempty drops kinds without references. Each PodSpec refers to a ServiceAccount.
func nonempty(all want) want {
	maps.DeleteFunc(all, func(kind string, list []engine.Reference) bool {
		return len(list) == 0 || kind == "ServiceAccount" && list[0].Name == "default"
	})
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
		"a slice of the controller": {"EndpointSlice",
			`{metadata: {name: a, labels: {kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}}}`},
		"an autoscaler of another group": {"HorizontalPodAutoscaler", `{spec: {scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Deployment, name: a}}}`},
		"a role of a user":               {"RoleBinding", `{subjects: [{kind: User, name: a}, {kind: User, name: "system:serviceaccount:a"}, {kind: User, name: "system:serviceaccount:A B:c"}, {kind: User, name: "system:serviceaccount::"}]}`},
	} {
		t.Run(what, func(t *testing.T) {
			if got, err := table.read(test.kind, object(t, test.object, "")); err != nil || len(nonempty(got)) > 0 {
				t.Errorf("%v, %v; want nothing", got, err)
			}
		})
	}
}

// TestNamesInUseWithoutAnObject: an object that names one of two kinds, or a name that needs no object, has no missing target.
func TestNamesInUseWithoutAnObject(t *testing.T) {
	for from, to := range map[schema.GroupKind]string{
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: "ConfigMap Secret",
		{Group: "apps", Kind: "StatefulSet"}:                                              "PersistentVolumeClaim Service StorageClass.storage.k8s.io",
		{Group: "networking.k8s.io", Kind: "Ingress"}:                                     "IngressClass.networking.k8s.io",
		{Kind: "PersistentVolumeClaim"}:                                                   "StorageClass.storage.k8s.io",
		{Kind: "Pod"}:                                                                     "StorageClass.storage.k8s.io",
	} {
		expect.Equal(t, from.String(), to, strings.Join(builtin.Names(builtin.Possible(from)), " "))
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

// TestSelectorsOfKinds: the expressions return the label selectors of objects; nil if they select nothing.
func TestSelectorsOfKinds(t *testing.T) {
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	for name, test := range map[string]struct{ kind, object, want string }{
		"a Service":                                    {"Service", `{spec: {selector: {app: web, tier: front}}}`, "app=web,tier=front"},
		"a Service without a selector":                 {"Service", `{spec: {type: ExternalName, externalName: a.example.com}}`, "nothing"},
		"a Service with an empty selector":             {"Service", `{spec: {selector: {}}}`, "nothing"},
		"a disruption budget":                          {"PodDisruptionBudget", `{spec: {selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}}}`, "app=web,tier in (a,b)"},
		"a disruption budget for all":                  {"PodDisruptionBudget", `{spec: {selector: {}}}`, ""},
		"a disruption budget without any":              {"PodDisruptionBudget", `{spec: {}}`, "nothing"},
		"a NetworkPolicy":                              {"NetworkPolicy", `{spec: {podSelector: {matchExpressions: [{key: app, operator: Exists}]}}}`, "app"},
		"a NetworkPolicy for all":                      {"NetworkPolicy", `{spec: {podSelector: {}}}`, ""},
		"a NetworkPolicy that says it not":             {"NetworkPolicy", `{spec: {}}`, ""},
		"a NetworkPolicy, as the API server stores it": {"NetworkPolicy", `{spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}}`, "app=web"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range builtin.References() {
				if d.From.Kind != test.kind || d.Selector == "" {
					continue
				}
				extractor, problems := c.SelectorExtractor(d.Selector, "selector")
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				selector, err := e.Selector(extractor, object(t, test.object, ""))
				got := "nothing"
				if selector != nil {
					got = selector.String()
				}
				if err != nil || got != test.want {
					t.Errorf("got %q, %v; want %q", got, err, test.want)
				}
			}
		})
	}
}

// TestLabelsOfPodsAndTemplates: the labels of Pods, and those that the Pods of workloads will have.
func TestLabelsOfPodsAndTemplates(t *testing.T) {
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	const template = `template: {metadata: {labels: {app: web}}}`
	objects := map[string]string{
		"Pod": `{metadata: {name: a, labels: {app: web}}}`, "PodTemplate": `{` + template + `}`, "CronJob": `{spec: {jobTemplate: {spec: {` + template + `}}}}`,
	}
	for _, l := range builtin.PodLabels() {
		text, ok := objects[l.Of.Kind]
		if !ok {
			text = `{spec: {` + template + `}}`
		}
		extractor, problems := c.LabelsExtractor(l.Labels, "labels")
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for text, want := range map[string]string{text: "app=web", `{}`: ""} {
			if got, err := e.Labels(extractor, object(t, text, "")); err != nil || got.String() != want {
				t.Errorf("%s: labels %q, %v; want %q", l.Of.Kind, got, err, want)
			}
		}
	}
	expect.Equal(t, "kinds with labels of Pods", 9, len(builtin.PodLabels()))
}
