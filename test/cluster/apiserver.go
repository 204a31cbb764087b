package cluster

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// AuditMetadata is an audit policy that records who did what to which object
// and with what result, once per request, without bodies.
const AuditMetadata = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
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
		if err := c.scratch.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// apiServer has RBAC on and anonymous access off. Two admission plugins are
// off: ServiceAccount, because nothing here makes default service accounts,
// and TaintNodesByCondition, because nothing here would remove its taint from
// a node that became ready.
func (c *Cluster) apiServer(etcd string) *server {
	return &server{
		component: APIServer,
		scheme:    "https",
		ready:     c.apiReady,
		args: func(port int) []string {
			args := []string{
				"--etcd-servers=" + etcd,
				"--bind-address=127.0.0.1",
				"--advertise-address=127.0.0.1",
				"--secure-port=" + strconv.Itoa(port),
				"--tls-cert-file=" + c.scratch.path(certFile),
				"--tls-private-key-file=" + c.scratch.path(keyFile),
				"--client-ca-file=" + c.scratch.path(caFile),
				"--anonymous-auth=false",
				"--authorization-mode=RBAC",
				"--service-account-issuer=https://kubernetes.default.svc",
				"--service-account-key-file=" + c.scratch.path(signingFile),
				"--service-account-signing-key-file=" + c.scratch.path(signingFile),
				"--service-cluster-ip-range=10.96.0.0/24",
				"--endpoint-reconciler-type=none",
				"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
				"--allow-privileged=true",
			}
			args = append(args, c.auditArgs()...)
			args = append(args, c.opts.featureGates()...)
			return append(args, c.opts.APIServerArgs...)
		},
	}
}

func (c *Cluster) auditArgs() []string {
	if c.opts.AuditPolicy == "" {
		return nil
	}
	return []string{
		"--audit-policy-file=" + c.scratch.path(auditFile),
		"--audit-log-path=" + c.AuditLog(),
		"--audit-log-maxsize=10000", // megabytes: never rotated away under a reader
	}
}

// apiReady is true when the server says so and has made the namespace default,
// which readyz does not wait for.
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
