package playground_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/playground"
	"github.com/sunset-k8s/sunset/test/debian"
	"github.com/sunset-k8s/sunset/test/expect"
)

// engine builds the engine as build.mjs does, once per process.
var engine = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sunset-engine-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "engine.wasm")
	if out, err := exec.Command("go", "run", "../../cmd/playground/build", "-o", file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the engine: %w\n%s", err, out)
	}
	return os.ReadFile(file)
})

// node runs the engine under Node.
type node struct {
	in  *json.Encoder
	out *bufio.Reader
}

func startNode(t *testing.T) *node {
	t.Helper()
	programs, err := debian.Programs(t.Context(), map[string]string{"node": "nodejs"}, t.Output())
	expect.NoError(t, err)
	wasm, err := engine()
	expect.NoError(t, err)
	file := filepath.Join(t.TempDir(), "engine.wasm")
	expect.NoError(t, os.WriteFile(file, wasm, 0o644))
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	expect.NoError(t, err)
	support := filepath.Join(strings.TrimSpace(string(goroot)), "lib/wasm/wasm_exec.js")
	command := exec.CommandContext(t.Context(), programs["node"], "testdata/node.mjs", support, file)
	command.Stderr = t.Output()
	in, err := command.StdinPipe()
	expect.NoError(t, err)
	out, err := command.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	return &node{json.NewEncoder(in), bufio.NewReader(out)}
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
	n := startNode(t)
	for _, c := range allCases(t) {
		got := n.ask(t, c.request)
		t.Run(c.name, func(t *testing.T) { c.check(t, got) })
	}
}

// TestEngineExplainsAsTheCommandLine compares the engine with the same code in this process, which the command line uses.
func TestEngineExplainsAsTheCommandLine(t *testing.T) {
	n := startNode(t)
	here, err := playground.NewSession()
	expect.NoError(t, err)
	explained := 0
	for _, c := range sampleCases(t) {
		for _, v := range n.ask(t, c.request).Preview.Verdicts {
			c.request.Explain = &playground.Object{APIVersion: v.APIVersion, Kind: v.Kind, Namespace: v.Namespace, Name: v.Name}
			data, err := json.Marshal(c.request)
			expect.NoError(t, err)
			want := decoded(t, string(here.Answer(context.Background(), data)))
			got := n.ask(t, c.request)
			expect.Equal(t, c.name+" "+v.Name, string(want.Page), string(got.Page))
			if got.Page != nil {
				explained++
			}
		}
	}
	if explained < 500 {
		t.Errorf("%d objects were explained", explained)
	}
}

// TestEngineRefusesHostileInput: the engine answers with a problem, and answers the next request.
func TestEngineRefusesHostileInput(t *testing.T) {
	n := startNode(t)
	rule := func(expression string) string {
		quoted, _ := json.Marshal(expression)
		return "apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: bomb}\nspec:\n  rules:\n" +
			"  - {name: r, target: {apiVersion: v1, kind: Pod}, eligible: " + string(quoted) + ", ttl: 1h}\n"
	}
	loop := "[1,2,3,4,5,6,7,8,9,10]"
	object := "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b, creationTimestamp: 2026-01-01T00:00:00Z}\n"
	for name, c := range map[string]struct{ policies, objects, want string }{
		"loops in loops": {rule(strings.Repeat(loop+".all(x, ", 8) + "object.metadata.name != ''" + strings.Repeat(")", 8)), object, "too many nested loops"},
		"long loops":     {rule("lists.range(9999).all(x, lists.range(9999).all(y, x >= 0))"), object, `"errors":[{`},
		"text that grows": {rule("[" + strings.Repeat("object.metadata.name.replace('a', 'aaaaaaaaaaaaaaaaaaaa').replace('a', 'aaaaaaaaaaaaaaaaaaaa')", 1) +
			strings.Repeat(".replace('a', 'aaaaaaaaaaaaaaaaaaaa')", 8) + "].size() > 0"), object, "builds more than"},
		"aliases that grow": {rule("true"), "a: &a [x,x,x,x,x,x,x,x,x]\n" + "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "alias"},
		"deep YAML":        {rule("true"), object + "deep: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "levels deep"},
		"deep JSON":        {rule("true"), `{"apiVersion": "v1", "kind": "Pod", "deep": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}", "levels deep"},
		"deep lists":       {rule("true"), strings.Repeat("- ", 20_000) + "a\n", "levels deep"},
		"too much text":    {rule("true"), strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 70_000), "at most 64 MB"},
		"too many objects": {rule("true"), strings.Repeat("---\n"+object, playground.MaxObjects+1), "at most 20000"},
		"a binary file":    {rule("true"), "\x00\x01\xff\xfe\x80PK", "control characters are not allowed"},
	} {
		r := newRequest([]string{c.policies}, []string{c.objects}, samples(t)[0].want.At)
		if got := n.ask(t, r); !strings.Contains(got.text, c.want) {
			t.Errorf("%s: want %q in %.500s", name, c.want, got.text)
		}
		if got := n.ask(t, newRequest([]string{rule("true")}, []string{object}, r.At)); got.Preview == nil || len(got.Preview.Verdicts) != 1 {
			t.Errorf("%s: the next request fails: %s", name, got.text)
		}
	}
}

// TestEngineKeepsObjects: a request without objects is about the objects of the last request.
func TestEngineKeepsObjects(t *testing.T) {
	s, err := playground.NewSession()
	expect.NoError(t, err)
	c := samples(t)[0]
	r := newRequest(c.policies, c.objects, c.want.At)
	ask := func(r playground.Request) string {
		data, err := json.Marshal(r)
		expect.NoError(t, err)
		return string(s.Answer(t.Context(), data))
	}
	first := ask(r)
	r.Objects = nil
	expect.Equal(t, "second response", first, ask(r))
	r.Objects = &[]load.Text{}
	if got := decoded(t, ask(r)); len(got.Preview.Verdicts) > 0 {
		t.Errorf("verdicts without objects: %s", got.text)
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
		for _, client := range []string{"k8s.io/client-go", "k8s.io/cli-runtime", "sigs.k8s.io/controller-runtime", "github.com/spf13", "google.golang.org/grpc", "github.com/prometheus"} {
			if strings.HasPrefix(imported, client) {
				t.Errorf("the engine links %s", imported)
			}
		}
	}
}
