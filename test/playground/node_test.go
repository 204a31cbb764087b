// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/playground"
	"github.com/sunset-k8s/sunset/cmd/playground/site"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

// theEngine builds the engine, if it is not in the cache.
var theEngine = once(site.Engine)

// node runs the engine under Node.
type node struct {
	in  *json.Encoder
	out *bufio.Reader
}

// theNode is the process that tests share.
var theNode shared[*node]

func openNode(t *testing.T) *node {
	t.Helper()
	return theNode.use(t, startNode)
}

// startNode starts a process, and returns what ends it.
func startNode(t *testing.T) (n *node, end func()) {
	t.Helper()
	programs := install(t, map[string]string{"node": "nodejs"})
	file, err := theEngine()
	expect.NoError(t, err)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	expect.NoError(t, err)
	support := filepath.Join(strings.TrimSpace(string(goroot)), "lib/wasm/wasm_exec.js")
	command := exec.Command(programs["node"], "testdata/node.mjs", support, file)
	command.Stderr = os.Stderr // it may outlive the test
	in, err := command.StdinPipe()
	expect.NoError(t, err)
	out, err := command.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, command.Start())
	return &node{json.NewEncoder(in), bufio.NewReader(out)}, func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
}

func (n *node) ask(t *testing.T, r playground.Request) *response {
	t.Helper()
	expect.NoError(t, n.in.Encode(r))
	line, err := n.out.ReadString('\n')
	expect.NoError(t, err)
	return decoded(t, line)
}

func decoded(t *testing.T, text string) *response {
	t.Helper()
	got := &response{text: text}
	expect.NoError(t, json.Unmarshal([]byte(text), got))
	return got
}

// TestEngineDecidesAsTheCommandLine runs the engine of the playground under Node.
func TestEngineDecidesAsTheCommandLine(t *testing.T) {
	n := openNode(t)
	for _, c := range allCases(t) {
		got := n.ask(t, c.request)
		t.Run(c.name, func(t *testing.T) { c.check(t, got) })
	}
}

// TestEngineExplainsAsTheCommandLine compares the engine with the same code in this process, which the command line uses.
func TestEngineExplainsAsTheCommandLine(t *testing.T) {
	n := openNode(t)
	here, err := playground.NewSession()
	expect.NoError(t, err)
	explained := 0
	for _, c := range sampleCases(t) {
		both := func() (want, got *response) {
			data, err := json.Marshal(c.request)
			expect.NoError(t, err)
			return decoded(t, string(here.Answer(t.Context(), data))), n.ask(t, c.request)
		}
		_, first := both()
		c.request.Objects = nil // both keep the objects, as for the page
		verdicts := first.Preview.Verdicts
		if !long.Enabled() {
			verdicts = verdicts[:min(4, len(verdicts))]
		}
		for _, v := range verdicts {
			c.request.Explain = &playground.Object{APIVersion: v.APIVersion, Kind: v.Kind, Namespace: v.Namespace, Name: v.Name}
			want, got := both()
			expect.Equal(t, c.name+" "+v.Name, string(want.Page), string(got.Page))
			if got.Page != nil {
				explained++
			}
		}
	}
	if explained < 20 {
		t.Errorf("%d objects were explained", explained)
	}
}

// TestEngineRefusesHostileInput runs the engine of the playground under Node, which has more stack than a browser: see
// TestPageRefusesHostileInput.
func TestEngineRefusesHostileInput(t *testing.T) {
	onlyLong(t)
	n := openNode(t)
	refuseHostileInput(t, hostileInput, func(r playground.Request) *response { return n.ask(t, r) })
}

// TestEngineContainsNoFunctionsOfOthers: the patches of package site leave out what the engine does not call. The names of all
// functions are in the engine.
func TestEngineContainsNoFunctionsOfOthers(t *testing.T) {
	file, err := theEngine()
	expect.NoError(t, err)
	text, err := os.ReadFile(file)
	expect.NoError(t, err)
	if !bytes.Contains(text, []byte("github.com/google/cel-go/cel.(*Env).Parse")) {
		t.Fatal("the engine does not contain the names of its functions")
	}
	for _, other := range []string{"net/http.", "crypto/tls.", "k8s.io/api/core/v1.", "github.com/json-iterator/go.", "fxamacker/cbor"} {
		if bytes.Contains(text, []byte(other)) {
			t.Errorf("the engine contains %s", other)
		}
	}
}

// TestEngineLinksNoClient: libraries for clusters and command lines would be most of the engine's size.
func TestEngineLinksNoClient(t *testing.T) {
	command := exec.Command("go", "list", "-deps", "github.com/sunset-k8s/sunset/cmd/playground/wasm")
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	list, err := command.Output()
	expect.NoError(t, err)
	if !strings.Contains(string(list), "github.com/sunset-k8s/sunset/engine\n") {
		t.Fatal("go list does not show the dependencies of the engine")
	}
	for imported := range strings.Lines(string(list)) {
		for _, client := range []string{"k8s.io/client-go", "k8s.io/cli-runtime", "sigs.k8s.io/kustomize", "sigs.k8s.io/controller-runtime", "github.com/spf13",
			"google.golang.org/grpc", "go.opentelemetry.io", "github.com/prometheus"} {
			if strings.HasPrefix(imported, client) {
				t.Errorf("the engine links %s", imported)
			}
		}
	}
}
