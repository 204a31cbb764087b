// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// AuditMetadata is an audit policy that records the user, the object and the result of each request, once per request,
// without bodies.
const AuditMetadata = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// AuditBodies is an audit policy that records each request with its user, except reads by the test itself and by the other
// servers, which all act as admin. Writes include request and response bodies; writes of a lease only the request body. For reads, for
// Events, and for reports of nodes and Pods it records the same as AuditMetadata.
const AuditBodies = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  users: [admin, system:apiserver]
  verbs: [get, list, watch]
- level: Metadata
  verbs: [get, list, watch]
- level: Request
  resources: [{group: coordination.k8s.io}]
- level: Metadata
  resources: [{group: events.k8s.io}, {group: "", resources: [events, nodes, nodes/status, pods/status]}]
- level: RequestResponse
`

// The files of keys and certificates in the scratch directory.
const (
	caFile, certFile, keyFile = "ca.crt", "server.crt", "server.key"
	signingFile, auditFile    = "service-account.key", "audit-policy.yaml"
)

func (c *Cluster) writeKeys() error {
	pair, err := c.ca.serving()
	if err != nil {
		return err
	}
	signing, err := newSigningKey()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		caFile: c.ca.pem, certFile: pair.cert, keyFile: pair.key,
		signingFile: signing, auditFile: []byte(c.opts.AuditPolicy),
	} {
		if err := c.scratch.Write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// apiServer enables RBAC and disables anonymous access. It disables two admission plugins: ServiceAccount, because no
// component here creates default service accounts, and TaintNodesByCondition, because no component here removes its taint
// from a node that became ready.
func (c *Cluster) apiServer(component Component, etcd string) *server {
	return &server{
		component: component,
		scheme:    "https",
		env:       c.opts.APIServerEnv,
		ready:     c.apiReady,
		args: func(port int) []string {
			args := []string{
				"--etcd-servers=" + etcd,
				"--bind-address=127.0.0.1",
				"--advertise-address=127.0.0.1",
				"--secure-port=" + strconv.Itoa(port),
				"--tls-cert-file=" + c.scratch.Path(certFile),
				"--tls-private-key-file=" + c.scratch.Path(keyFile),
				"--client-ca-file=" + c.scratch.Path(caFile),
				"--anonymous-auth=false",
				"--authorization-mode=RBAC",
				"--service-account-issuer=https://kubernetes.default.svc",
				"--service-account-key-file=" + c.scratch.Path(signingFile),
				"--service-account-signing-key-file=" + c.scratch.Path(signingFile),
				"--service-cluster-ip-range=10.96.0.0/24",
				"--endpoint-reconciler-type=none",
				"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
				"--allow-privileged=true",
			}
			return slices.Concat(args, c.auditArgs(component), c.historyArgs(), c.opts.APIServerArgs)
		},
	}
}

func (c *Cluster) auditArgs(component Component) []string {
	if c.opts.AuditPolicy == "" {
		return nil
	}
	return []string{
		"--audit-policy-file=" + c.scratch.Path(auditFile),
		"--audit-log-path=" + c.auditLog(component),
		"--audit-log-maxsize=10000", // megabytes: the log is never rotated while a test reads it
	}
}

func (c *Cluster) auditLog(component Component) string {
	if component == APIServer {
		return filepath.Join(c.logs, "audit.log")
	}
	return filepath.Join(c.logs, "audit-"+string(component)+".log")
}

func (c *Cluster) historyArgs() []string {
	if !c.opts.History {
		return nil
	}
	return []string{"--etcd-compaction-interval=0", "--storage-media-type=application/json"}
}

// beginSecond starts the second API server, which reaches etcd through a relay.
func (c *Cluster) beginSecond(ctx context.Context, etcdPort int) (err error) {
	if c.relay, err = NewRelay(fmt.Sprintf("127.0.0.1:%d", etcdPort)); err != nil {
		return err
	}
	return c.begin(ctx, c.apiServer(SecondAPIServer, "http://"+c.relay.Address()))
}

// Relay returns the relay between the second API server and etcd; nil without a second API server.
func (c *Cluster) Relay() *Relay { return c.relay }

// apiReady succeeds when the server reports that it is ready and has created the namespace default, which readyz does not
// wait for.
func (c *Cluster) apiReady(ctx context.Context, port int) error {
	config, err := c.userConfig(fmt.Sprintf("https://127.0.0.1:%d", port), "admin", "system:masters")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}
