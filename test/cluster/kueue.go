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

// KueueNamespace is where Kueue keeps what is its own.
const KueueNamespace = "kueue-system"

// The names that Kueue gives to its webhooks' Service and Secret by itself.
const kueueService, kueueSecret = "kueue-webhook-service", "kueue-webhook-server-cert"

// kueueDir has Kueue's configuration and certificates, in the scratch directory.
const kueueDir = "kueue"

// KueueOptions says how Kueue differs from its release's manifest.
type KueueOptions struct {
	// Configuration is YAML with fields of Kueue's Configuration. Each
	// replaces ours of that name, which are: the requests a second and the
	// workers of the manifest, of all job frameworks batch/job only, and no
	// objectRetentionPolicies.
	Configuration string
}

// StartKueue builds Kueue if need be, installs its CRDs and runs it until Stop,
// or until Kill or Restart ask for something else. Called again it
// restarts Kueue with other options.
//
// Two things are not as in a cluster. Kueue acts as an administrator. And it
// converts between the versions of its API, but its admission webhooks are not
// installed: what they would refuse is accepted, and what they would fill in is
// the caller's to write, such as suspend: true in a Job.
func (c *Cluster) StartKueue(ctx context.Context, opts KueueOptions) error {
	c.mu.Lock()
	c.kueueOpts = opts
	_, err := c.find(Kueue)
	c.mu.Unlock()
	if err == nil { // on its port, or the CRDs, which name it, would have to change
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

// kueue listens on the server's port for the webhooks, and on another for its
// health, which is known once it is prepared.
func (c *Cluster) kueue(keys map[string][]byte) *server {
	var health int
	return &server{
		component: Kueue,
		scheme:    "https",
		prepare: func(ctx context.Context, port int) (err error) {
			if health, err = freePort(); err != nil {
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

func (c *Cluster) kueuePath(name string) string { return c.scratch.path(filepath.Join(kueueDir, name)) }

// mountKueueKeys makes the Secret in which Kueue keeps its keys, and the
// directory in which a kubelet would mount it. Kueue makes its own keys where it
// finds none, but for the name of its Service: nobody could call it by address.
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
		if err := c.scratch.write(filepath.Join(kueueDir, name), data); err != nil {
			return err
		}
	}
	return nil
}

// kueueManifest is what the release's manifest says, but for addresses, other
// job frameworks and the server for visibility, which needs an APIService.
// Without internalCertManagement Kueue would want keys in a directory of /etc.
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
	return c.scratch.write(filepath.Join(kueueDir, "config.yaml"), data)
}
