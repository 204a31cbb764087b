// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// KueueNamespace is the namespace of Kueue's own objects.
const KueueNamespace = "kueue-system"

// The names that Kueue gives to the Service and the Secret of its webhooks.
const kueueService, kueueSecret = "kueue-webhook-service", "kueue-webhook-server-cert"

// kueueDir contains Kueue's configuration and certificates, in the scratch directory.
const kueueDir = "kueue"

// KueueOptions are the differences from the manifest of Kueue's release.
type KueueOptions struct {
	// Configuration is YAML with fields of Kueue's Configuration. Each replaces our field of the same name. Our fields are
	// the requests per second and the workers of the manifest, batch/job as the only job framework, and no
	// objectRetentionPolicies.
	Configuration string
}

// StartKueue builds Kueue if necessary, installs its CRDs and runs it until Stop, Kill or Restart. Another call restarts
// Kueue with other options.
//
// Two things differ from a cluster. Kueue acts as an administrator. Kueue converts between the versions of its API, but its
// admission webhooks are not installed: the API server accepts what they would refuse, and the caller must set what they
// would fill in, such as suspend: true in a Job.
func (c *Cluster) StartKueue(ctx context.Context, opts KueueOptions) error {
	c.mu.Lock()
	c.kueueOpts = opts
	_, err := c.find(Kueue)
	c.mu.Unlock()
	if err == nil { // on its old port, which the CRDs refer to
		return c.Restart(ctx, Kueue)
	}
	paths, err := Binaries(ctx, c.opts.progress(), Kueue)
	if err != nil {
		return err
	}
	c.paths[Kueue] = paths[Kueue]
	keys, err := newKueueKeys()
	if err != nil {
		return err
	}
	if err := c.mountKueueKeys(ctx, keys); err != nil {
		return fmt.Errorf("certificates of Kueue: %w", err)
	}
	return c.begin(ctx, c.kueue(keys))
}

// kueue listens on the server's port for the webhooks, and on another port for its health. The second port is known after
// prepare.
func (c *Cluster) kueue(keys map[string][]byte) *server {
	var health int
	return &server{
		component: Kueue,
		scheme:    "https",
		prepare: func(ctx context.Context, port int) (err error) {
			if health, err = FreePort(); err != nil {
				return err
			}
			if err := c.writeKueueConfig(c.kueueOpts, port, health); err != nil {
				return err
			}
			return c.installKueueCRDs(ctx, port, keys[kueueCA])
		},
		args: func(int) []string {
			return []string{"--config=" + c.kueuePath("config.yaml"), "--kubeconfig=" + c.Kubeconfig(), "--zap-log-level=info"}
		},
		ready: func(ctx context.Context, port int) error {
			if err := servesAs(ctx, port, kueueService, keys[kueueCA]); err != nil {
				return err
			}
			_, err := get(ctx, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/readyz", health))
			return err
		},
	}
}

func (c *Cluster) kueuePath(name string) string { return c.scratch.Path(filepath.Join(kueueDir, name)) }

// mountKueueKeys creates the Secret in which Kueue keeps its keys, and the directory in which a kubelet would mount it. If
// Kueue found no keys it would create keys for the name of its Service only, and the API server could not call it by
// address.
func (c *Cluster) mountKueueKeys(ctx context.Context, keys map[string][]byte) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: KueueNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: KueueNamespace, Name: kueueSecret}, Data: keys}
	if _, err := client.CoreV1().Secrets(KueueNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := os.MkdirAll(c.kueuePath(""), 0o755); err != nil {
		return err
	}
	for name, data := range keys {
		if err := c.scratch.Write(filepath.Join(kueueDir, name), data); err != nil {
			return err
		}
	}
	return nil
}

// kueueManifest is the configuration of the release's manifest, except addresses, other job frameworks and the visibility
// server, which needs an APIService. Without internalCertManagement Kueue would expect keys in a directory of /etc.
const kueueManifest = `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: ` + KueueNamespace + `
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: true}
controller:
  groupKindConcurrency:
    Job.batch: 5
    Pod: 5
    Workload.kueue.x-k8s.io: 5
    LocalQueue.kueue.x-k8s.io: 1
    Cohort.kueue.x-k8s.io: 1
    ClusterQueue.kueue.x-k8s.io: 1
    ResourceFlavor.kueue.x-k8s.io: 1
clientConnection: {qps: 50, burst: 100}
integrations: {frameworks: [batch/job]}
featureGates: {VisibilityOnDemand: false}
`

func (c *Cluster) writeKueueConfig(opts KueueOptions, port, health int) error {
	config, changes := map[string]any{}, map[string]any{}
	if err := yaml.Unmarshal([]byte(kueueManifest), &config); err != nil {
		return err
	}
	if err := yaml.Unmarshal([]byte(opts.Configuration), &changes); err != nil {
		return fmt.Errorf("KueueOptions.Configuration: %w", err)
	}
	maps.Copy(config, changes)
	config["webhook"] = map[string]any{"host": "127.0.0.1", "port": port, "certDir": c.kueuePath("")}
	config["health"] = map[string]any{"healthProbeBindAddress": "127.0.0.1:" + strconv.Itoa(health)}
	data, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return c.scratch.Write(filepath.Join(kueueDir, "config.yaml"), data)
}
