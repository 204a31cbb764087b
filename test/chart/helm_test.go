// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
)

const (
	chart     = "../../charts/sunset"
	examples  = chart + "/examples/kinds.yaml"
	namespace = "sunset-system"
)

var update = flag.Bool("update", false, "update the golden files, charts/rendered.yaml and the table in charts/sunset/README.md")

var (
	helm      = sync.OnceValues(func() (string, error) { return build("helm", "../controlplane/helm/go.mod") })
	kustomize = sync.OnceValues(func() (string, error) { return build("kustomize", "kustomize/go.mod") })
)

// build returns the path of a tool, built from the module that pins it if the build cache does not contain it.
func build(tool, module string) (string, error) {
	if err := inputs.Files(filepath.Dir(module)); err != nil {
		return "", err
	}
	command := exec.Command("go", "tool", "-modfile="+module, "-n", tool)
	command.Stderr = os.Stderr
	path, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", tool, err)
	}
	return strings.TrimSpace(string(path)), nil
}

// run runs helm with an empty configuration. Its error includes helm's output.
func run(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	path, err := helm()
	expect.NoError(t, err)
	expect.NoError(t, inputs.Files(chart))
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG="+os.DevNull,
		"GOGC=off", "GOMEMLIMIT=1GiB") // a command is too short to collect garbage
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("helm %s: %w\n%s%s", strings.Join(args, " "), err, out, &said)
	}
	return out, nil
}

// rendered caches the results of render.
var rendered = map[string][]byte{}

// render returns the rendered chart for values, given as --set and --values flags.
func render(t *testing.T, args ...string) []byte {
	t.Helper()
	asked := strings.Join(args, " ")
	if _, known := rendered[asked]; !known {
		out, err := run(t, append([]string{"template", "sunset", chart, "--namespace", namespace}, args...)...)
		expect.NoError(t, err)
		rendered[asked] = out
	}
	return rendered[asked]
}

// objects returns the objects of a text with several YAML documents.
func objects(t *testing.T, text []byte) (all []*unstructured.Unstructured) {
	t.Helper()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		data, wrong := yaml.YAMLToJSON(document)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		object := &unstructured.Unstructured{}
		switch err := object.UnmarshalJSON(data); {
		case string(data) == "null": // comments only
		case err != nil:
			t.Fatalf("%v in\n%s", err, document)
		default:
			all = append(all, object)
		}
	}
}

// one returns the object of a kind with a name.
func one(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range all {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}
