// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// ordinaryPod is a typical Pod, with %s for its UID.
var ordinaryPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-7d9c5b8f6d-x2x7k","generateName":"web-7d9c5b8f6d-","namespace":"shop","uid":"%s",
"resourceVersion":"8123456","creationTimestamp":"2026-03-01T12:00:00Z","labels":{"app":"web","pod-template-hash":"7d9c5b8f6d","team":"shop"},
"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"9090","checksum/config":"6f1d7a643c1e4f0b9a55"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d9c5b8f6d","uid":"0a8e3c1c-4b3b-4f3b-8b3b-3b3b3b3b3b3b","controller":true,"blockOwnerDeletion":true}],
"managedFields":[` + strings.Join([]string{managed("kube-controller-manager"), managed("kubelet"), managed("scheduler")}, ",") + `]},
"spec":{"volumes":[{"name":"config","configMap":{"name":"web-config-8k2f","defaultMode":420}},{"name":"tls","secret":{"secretName":"web-tls","defaultMode":420}},
{"name":"tmp","emptyDir":{}},{"name":"data","persistentVolumeClaim":{"claimName":"web-data"}},
{"name":"kube-api-access-9xk2p","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},
{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],
"initContainers":[` + container("migrate", 4) + `],"containers":[` + container("web", 12) + `,` + container("proxy", 6) + `],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web","serviceAccount":"web","nodeName":"node-17",
"securityContext":{"runAsUser":1000,"fsGroup":1000},"imagePullSecrets":[{"name":"registry"}],"schedulerName":"default-scheduler",
"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},
{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},
"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T12:00:01Z"},
{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T12:00:09Z"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T12:00:09Z"},
{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T12:00:00Z"}],"hostIP":"10.0.0.17","podIP":"10.1.17.4","podIPs":[{"ip":"10.1.17.4"}],"startTime":"2026-03-01T12:00:00Z",
"containerStatuses":[` + strings.Join([]string{ran("web"), ran("proxy")}, ",") + `],"qosClass":"Burstable"}}`

func managed(by string) string {
	return fmt.Sprintf(`{"manager":%q,"operation":"Update","apiVersion":"v1","time":"2026-03-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},
"f:checksum/config":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},
"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{}}},"f:dnsPolicy":{},"f:restartPolicy":{}}}}`, by)
}

func container(name string, env int) string {
	variables := []string{`{"name":"PASSWORD","valueFrom":{"secretKeyRef":{"name":"web-db","key":"password"}}}`, `{"name":"LEVEL","valueFrom":{"configMapKeyRef":{"name":"web-flags","key":"level"}}}`}
	for i := range env {
		variables = append(variables, fmt.Sprintf(`{"name":"VARIABLE_%d","value":"http://service-%d.shop.svc.cluster.local:8080"}`, i, i))
	}
	return fmt.Sprintf(`{"name":%q,"image":"registry.example.org/shop/%s@sha256:0a8e3c1c4b3b4f3b8b3b3b3b3b3b3b3b0a8e3c1c4b3b4f3b8b3b3b3b3b3b3b3b","command":["/bin/%s","--port=8080"],"args":["--verbose","--config=/etc/config/app.yaml"],
"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"envFrom":[{"configMapRef":{"name":"web-env"}}],"env":[%s],"resources":{"limits":{"cpu":"1","memory":"512Mi"},"requests":{"cpu":"100m","memory":"256Mi"}},
"volumeMounts":[{"name":"config","mountPath":"/etc/config"},{"name":"tls","readOnly":true,"mountPath":"/etc/tls"},{"name":"kube-api-access-9xk2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],
"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}`,
		name, name, name, strings.Join(variables, ","))
}

func ran(name string) string {
	return fmt.Sprintf(`{"name":%q,"state":{"running":{"startedAt":"2026-03-01T12:00:05Z"}},"lastState":{},"ready":true,"restartCount":0,"image":"registry.example.org/shop/%s","imageID":"registry.example.org/shop/%s@sha256:0a8e3c1c4b3b","containerID":"containerd://0a8e3c1c4b3b4f3b8b3b3b3b3b3b3b3b","started":true}`, name, name, name)
}

// BenchmarkAPodThatChanges measures an event of a Pod whose references have not changed, like most events.
func BenchmarkAPodThatChanges(b *testing.B) {
	for name, asked := range map[string]references.Asked{"ConfigMaps": configMaps, "Secrets": secrets, "both": both, "everything": everything()} {
		b.Run(name, func(b *testing.B) {
			c := fixture.Compiler(b)
			table, _ := extract.NewTable(c, nil, asked)
			read := referrers.Reader(b.Context(), c, table, fixture.Pods)
			x := references.New(clock.RealClock{})
			x.Expect("Pod", asked.Kinds()...)
			x.Replace("Pod", nil)
			data := fmt.Appendf(nil, ordinaryPod, "6f1d7a64-3c1e-4f0b-9a55-000000000001")
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := read(data)
				if err != nil || r.Err != nil || len(r.Targets) == 0 {
					b.Fatal(r, err)
				}
				x.Put("Pod", r)
			}
		})
	}
}
