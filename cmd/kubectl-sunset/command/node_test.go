// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	agentsPath = "/api/v1/namespaces/sunset-system/pods"
	agentPath  = agentsPath + "/agent-a:9090/proxy/images"
	nodesPath  = "/api/v1/nodes"
)

// agentPod is the Pod of an agent; port is the name of its only port.
func agentPod(name, phase, port string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"sunset-system"},"spec":{"nodeName":"worker-1",
		"containers":[{"name":"agent","ports":[{"name":%q,"containerPort":9090}]}]},"status":{"phase":%q}}`, name, port, phase)
}

// aboutImages is a policy for images. One of its rules does not select worker-1.
func aboutImages(mode string) string {
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"nodes"},"spec":{"mode":%q,"rules":[
		{"name":"unused","target":{"apiVersion":"node.sunset-k8s.io/v1alpha1","kind":"Image"},"eligible":"node.labels.pool == 'web'","ttl":"7d"},
		{"name":"build","target":{"apiVersion":"node.sunset-k8s.io/v1alpha1","kind":"Image"},"nodeSelector":{"matchLabels":{"pool":"build"}},
		 "eligible":"true","ttl":"1d"}]}}`, mode)
}

func onWorker() *debug.NodeImages {
	day := 24 * time.Hour
	digest := func(letter string) []string {
		return []string{"registry.example.com/any@sha256:" + strings.Repeat(letter, 64)}
	}
	image := func(letter string, since time.Duration, tags ...string) engine.Image {
		return engine.Image{ID: "sha256:" + strings.Repeat(letter, 64), Tags: tags, Digests: digest(letter), SizeBytes: 67_000_000, FirstSeen: now.Add(-since)}
	}
	nginx := image("a", 30*day, "docker.io/library/nginx:1.25")
	nginx.LastUsed = now.Add(-10 * day)
	cart := image("b", 3*day, "registry.example.com/shop/cart:v2", "registry.example.com/shop/cart:latest")
	running := image("c", 3*day, "registry.example.com/shop/cart:v3")
	running.InUse = true
	loaded := image("d", 30*day, "example.com/loaded:v1")
	loaded.Digests = nil
	pause := image("e", 30*day, "registry.k8s.io/pause:3.10")
	pause.Pinned = true
	return &debug.NodeImages{
		Taken: now.Add(-10 * time.Second), Node: engine.Node{Name: "worker-1", Labels: map[string]string{"pool": "web"}},
		Images: []engine.Image{nginx, cart, running, loaded, pause},
	}
}

func tells(seen *debug.NodeImages) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(seen) }
}

// newAgent is a cluster with an agent on worker-1 that serves seen.
func newAgent(t *testing.T, seen *debug.NodeImages, policies ...string) *apiServer {
	s := newLive(t)
	s.inForce(policies...)
	s.list(agentsPath, "v1", "Pod", []string{agentPod("agent-a", "Running", "metrics")})
	s.proxied = map[string]http.HandlerFunc{agentPath: tells(seen)}
	return s
}

func TestExplainAnImageOfANode(t *testing.T) {
	seen := onWorker()
	seen.Uses = map[string]string{seen.Images[2].ID: "Pod shop/cart-0, as cart:v3"}
	s := newAgent(t, seen, aboutImages("Enforce"))
	golden(t, "explain-node", s.explain(t, "", "image/nginx:1.25", "--node", "worker-1"))
	wants(t, s.explain(t, "", "image/cart:v2", "--node", "worker-1"), command.ExitOK, "expires at 2026-03-05T12:00:00Z", "registry.example.com/shop/cart:v2 +1, 67MB")
	wants(t, s.explain(t, "", "images", "shop/cart:v3", "--node", "worker-1"), command.ExitOK, "stays: InUse", "in use by Pod shop/cart-0, as cart:v3")
	wants(t, s.explain(t, "", "image/sha256:"+strings.Repeat("d", 64), "--node", "worker-1"), command.ExitOK, "stays: Unpullable", "example.com/loaded:v1, 67MB")
	wants(t, s.explain(t, "", "image/registry.k8s.io/pause:3.10", "--node", "worker-1", "-o", "yaml"), command.ExitOK, "reason: Pinned", "pinned: true", "firstSeen:")
	const asked = "GET " + agentsPath + " application/json, */* fieldSelector=spec.nodeName%3Dworker-1&labelSelector=app.kubernetes.io%2Fname%3Dsunset-node-agent"
	if !strings.Contains(strings.Join(s.asked, "\n"), asked) {
		t.Errorf("no request for only the agent's Pod:\n%s", strings.Join(s.asked, "\n"))
	}
}

// TestExplainFullFilesystem: only the agent knows when thresholds delete images, so the page shows the thresholds and the disk
// usage.
func TestExplainFullFilesystem(t *testing.T) {
	policy := samples + "/image-thresholds/policy.yaml"
	seen := onWorker()
	for percent, want := range map[int32]string{
		84: "thresholds 85 % down to 80 % from the rule; the filesystem is 84 % full\n",
		85: "thresholds 85 % down to 80 % from the rule; the filesystem is 85 % full: the\n",
	} {
		seen.Node.Filesystem = &v1alpha1.NodeImageFilesystem{CapacityBytes: 100, UsedBytes: int64(percent), UsedPercent: percent}
		s := newAgent(t, seen)
		wants(t, s.explain(t, "", "image/nginx:1.25", "--node", "worker-1", "-f", policy), command.ExitOK, want)
	}
	got := run(t, "", "explain", "image/cart:v41", "-f", samples+"/image-thresholds")
	wants(t, got, command.ExitOK, "thresholds 85 % down to 80 % from the rule\n", "- the filesystem of the images is 85 % full: rule")
}

// TestExplainAgreesWithFiles: the page for an image on a node is that for the same image in files.
func TestExplainAgreesWithFiles(t *testing.T) {
	seen := onWorker()
	s := newAgent(t, seen)
	images, err := json.Marshal(seen)
	expect.NoError(t, err)
	dir := t.TempDir()
	policy, list := write(t, dir, "policy.json", aboutImages("DryRun")), write(t, dir, "images.json", string(images))
	node := write(t, dir, "node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: worker-1, labels: {pool: web}}}")
	for _, i := range seen.Images {
		_, name, _ := strings.Cut(i.Tags[0], "/")
		name = "image/" + name
		live := s.explain(t, "", name, "--node", "worker-1", "-f", policy)
		expect.Equal(t, name, run(t, "", "explain", name, "-f", policy, "-f", list, "--node", node), live, cmp.AllowUnexported(ran{}))
	}
	live := s.preview(t, "", "--node", "worker-1", "-f", policy, "-o", "json")
	files := run(t, "", "preview", "-f", policy, "-f", list, "--node", node, "-o", "json")
	live.out, _, _ = strings.Cut(live.out, `, "diff": [`) // only a cluster has rules in force to compare with
	files.out = strings.TrimSuffix(files.out, "}\n")
	expect.Equal(t, "preview of live objects", files.out, live.out)
}

func TestPreviewOfANode(t *testing.T) {
	s := newAgent(t, onWorker(), aboutImages("DryRun"), livePolicy("jobs", "Enforce", "Job", "1h"))
	golden(t, "preview-node", s.preview(t, "", "--node", "worker-1"))
	got := s.preview(t, aboutImages("DryRun"), "--node", "worker-1", "-f", "-")
	wants(t, got, command.ExitOK, "docker.io/library/nginx:1.25", "67MB   Delete   Expired", "note: rule nodes/build does not apply to node worker-1")
	if strings.Contains(got.out, "Job") {
		t.Errorf("Jobs in the output:\n%s", got.out)
	}
	wants(t, s.preview(t, aboutImages("DryRun"), "-f", "-"), command.ExitOK, "note: to preview rules for images, use --node")
}

func TestExplainFindsAgentPod(t *testing.T) {
	const elsewhere = "/api/v1/namespaces/kube-system/pods"
	s := newAgent(t, onWorker(), aboutImages("Enforce"))
	ask := []string{"image/nginx:1.25", "--node", "worker-1"}
	unnamed := agentPod("agent-b", "Running", "http")
	s.list(elsewhere, "v1", "Pod", []string{strings.Replace(unnamed, "sunset-system", "kube-system", 1)})
	s.proxied[elsewhere+"/agent-b:8080/proxy/images"] = tells(onWorker())
	wants(t, s.explain(t, "", append(ask, "--agent-namespace", "kube-system")...), command.ExitOK, "is deleted now")
	s.list(podsPath, "v1", "Pod", []string{strings.Replace(unnamed, "sunset-system", "kube-system", 1)})
	wants(t, s.explain(t, "", append(ask, "--agent-namespace", "")...), command.ExitOK, "is deleted now")
	leaving := strings.Replace(agentPod("agent-c", "Running", "metrics"), `"namespace"`, `"deletionTimestamp":"2026-03-01T11:59:00Z","namespace"`, 1)
	s.list(agentsPath, "v1", "Pod", []string{leaving, agentPod("agent-d", "Failed", "metrics"), agentPod("agent-a", "Running", "metrics")})
	wants(t, s.explain(t, "", ask...), command.ExitOK, "is deleted now")
	old := onWorker()
	old.Taken = now.Add(-time.Hour)
	s.proxied[agentPath] = tells(old)
	wants(t, s.explain(t, "", ask...), command.ExitOK, "is deleted now", "note: the agent on node worker-1 last listed its images 60m ago\n")
}

func TestAgentErrors(t *testing.T) {
	other := onWorker()
	other.Node.Name = "worker-2"
	twoCarts := onWorker()
	twoCarts.Images[0].Tags = []string{"other.example.com/cart:v2"}
	pods := func(pods ...string) func(*apiServer) {
		return func(s *apiServer) { s.list(agentsPath, "v1", "Pod", pods) }
	}
	answer := func(pod http.HandlerFunc) func(*apiServer) {
		return func(s *apiServer) { s.proxied[agentPath] = pod }
	}
	nginx := []string{"image/nginx:1.25", "--node", "worker-1"}
	for name, test := range map[string]struct {
		change func(*apiServer)
		args   []string
		want   string
	}{
		"no such node": {pods(), nginx, `the cluster has no node "worker-1"`},
		"no agent": {func(s *apiServer) {
			pods()(s)
			s.store(nodesPath+"/worker-1", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"worker-1"}}`)
		}, nginx, "no agent on node worker-1: no Pod on it has label app.kubernetes.io/name=sunset-node-agent in namespace sunset-system; set --agent-namespace"},
		"agent not running": {pods(agentPod("a", "Pending", "metrics")), nginx, "the agent on node worker-1 is not running: Pod sunset-system/a is Pending"},
		"two agents": {pods(agentPod("a", "Running", "metrics"), agentPod("b", "Running", "metrics")), nginx,
			"node worker-1 has more than one agent: Pod sunset-system/a, Pod sunset-system/b"},
		"no permission to list Pods": {func(s *apiServer) { s.store(agentsPath, forbidden) }, nginx, "not for you; you need permission to list pods in namespace sunset-system"},
		"no permission for the proxy": {answer(func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusForbidden, "Forbidden") }), nginx,
			"not for you: Forbidden; you need permission to get pods/proxy in namespace sunset-system"},
		"agent unreachable": {answer(func(w http.ResponseWriter, _ *http.Request) {
			fail(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		}), nginx,
			"the API server cannot reach the agent, Pod sunset-system/agent-a at port 9090: not for you"},
		"older agent": {answer(http.NotFound), nginx, "Pod sunset-system/agent-a serves no images at port 9090: its agent is older"},
		"agent with an error": {answer(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "images and Pods of the node not read: the runtime is away", http.StatusServiceUnavailable)
		}), nginx, "the agent, Pod sunset-system/agent-a, returned an error: images and Pods of the node not read: the runtime is away\n"},
		"invalid response": {answer(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }), nginx,
			"decode the response of Pod sunset-system/agent-a: not a list of the images of a node"},
		"another node":  {answer(tells(other)), nginx, `decode the response of Pod sunset-system/agent-a: it is for node "worker-2"`},
		"no such image": {nil, []string{"image/nginx:1.26", "--node", "worker-1"}, "on node worker-1: image nginx:1.26 not found; found docker.io/library/nginx:1.25\n"},
		"ambiguous name": {answer(tells(twoCarts)), []string{"image/cart:v2", "--node", "worker-1"},
			"image name cart:v2 is ambiguous; it matches other.example.com/cart:v2, registry.example.com/shop/cart:v2\n"},
		"no image":    {nil, []string{"job/a", "--node", "worker-1"}, "name one as image/NAME"},
		"no node":     {nil, []string{"image/nginx:1.25"}, "to explain an image on a node, use --node"},
		"no file":     {nil, append(nginx, "-f", "testdata/explain.yaml"), "file worker-1 does not exist"},
		"no argument": {nil, []string{"--node", "worker-1"}, "no object given; name one"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAgent(t, onWorker(), aboutImages("Enforce"))
			if test.change != nil {
				test.change(s)
			}
			wants(t, s.explain(t, "", test.args...), command.ExitError, "error: ", test.want)
		})
	}
	s := newAgent(t, onWorker(), aboutImages("Enforce"))
	wants(t, s.preview(t, "", "--node", "worker-1", "-n", "dev"), command.ExitError, "images of nodes have no namespace")
	wants(t, s.preview(t, "", "--node", "worker-1", "-f", "testdata/explain.yaml"), command.ExitError, "file worker-1 does not exist")
}
