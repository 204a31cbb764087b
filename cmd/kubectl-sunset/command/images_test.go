// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	crictlList = "testdata/crictl-images.json"
	buildNodes = samples + "/image-build-nodes"
)

func TestPreviewOfImages(t *testing.T) {
	golden(t, "preview-images", run(t, "", "preview", "-f", samples+"/image-age"))
	golden(t, "preview-crictl", run(t, "", "preview", "-f", buildNodes+"/policy.yaml", "--images", crictlList, "--node", "testdata/node.yaml"))
	golden(t, "preview-crictl-json", run(t, "", "preview", "-f", buildNodes+"/policy.yaml", "-f", "testdata/node.yaml", "--images", crictlList, "--unused-since", "14d", "-o", "json"))
}

func TestExplainImage(t *testing.T) {
	golden(t, "explain-image", run(t, "", "explain", "-f", samples+"/image-keep-in-release",
		"image/registry.example.com/shop/search:2026.07"))
	golden(t, "explain-image-group", run(t, "", "explain", "-f", samples+"/image-keep-newest-per-repository",
		"images.node.sunset-k8s.io", "registry.example.com:5000/mirror/cart:v43"))
	wants(t, run(t, "", "explain", "-f", buildNodes, "image/sha256:f12e69f5a2db19887d5f1f3e1ba9ee87bb865502f7134f18a018f72f08a4df98"),
		command.ExitOK, "(NodeNotSelected)", "image-build-nodes/build-nodes")
}

func TestExplainFindsImageByName(t *testing.T) {
	file := []string{"explain", "-f", samples + "/image-keep-newest-per-repository"}
	wants(t, run(t, "", append(file, "image/mirror/cart:v43")...), command.ExitOK, "registry.example.com/shop/cart:v43 +1, ")
	wants(t, run(t, "", append(file, "image/mirror/cart:v99")...), command.ExitError, "error: in the files: image mirror/cart:v99 not found; found registry.example.com")
}

func TestImagesOfANodeNobodyNames(t *testing.T) {
	list, err := os.ReadFile(crictlList)
	expect.NoError(t, err)
	got := run(t, string(list), "preview", "-f", buildNodes+"/policy.yaml", "--images", "-")
	wants(t, got, command.ExitOK, "image-build-nodes/other-nodes", "901MB",
		"note: rule image-build-nodes/build-nodes does not apply to a node without labels (no Node is given): its nodeSelector is example.com/role=build\n")
}

func TestImageErrors(t *testing.T) {
	for name, args := range map[string][]string{
		"an invalid list":                 {"-f", buildNodes + "/policy.yaml", "--images", "testdata/node.yaml"},
		"a missing list":                  {"-f", buildNodes + "/policy.yaml", "--images", "testdata/missing.json"},
		"a list without a policy":         {"--images", crictlList},
		"images of two nodes":             {"-f", buildNodes, "--images", crictlList, "--node", "testdata/node.yaml"},
		"an invalid time":                 {"-f", buildNodes + "/policy.yaml", "--images", crictlList, "--unused-since", "lately"},
		"standard input for two purposes": {"-f", "-", "--images", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			wants(t, run(t, "", append([]string{"preview"}, args...)...), command.ExitError, "error: ")
		})
	}
}

func TestValidateOfRulesAboutImages(t *testing.T) {
	policy := write(t, t.TempDir(), "policy.yaml", `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: nodes}
spec:
  rules:
  - name: misspelt
    target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
    eligible: object.spec.tag.size() > 0
    ttl: 7d
    delete: {target: Owner}
  - name: short
    target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
    eligible: "true"
    ttl: 5m
`)
	const warning = "spec.rules[1].ttl: warning: images that are removed after 5m may be pulled again repeatedly\n    hint: write 1h or longer"
	wants(t, run(t, "", "validate", "-f", policy), command.ExitFindings,
		`spec.rules[0].eligible:1:12: unknown field "tag"`, "hint: did you mean object.spec.tags?", "spec.rules[0].delete: an image is removed from its node",
		warning, "2 problems; 1 warning\n")
	wants(t, run(t, "", "validate", "-f", policy, "-o", "json"), command.ExitFindings, `"warnings": [`, `"path": "spec.rules[1].ttl"`)
}
