// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
	"github.com/sunset-k8s/sunset/test/overlay"
	"github.com/sunset-k8s/sunset/test/program"
	"github.com/sunset-k8s/sunset/test/scratch"
)

// Variable is the environment variable that selects what Default builds: empty or "plain" means Plain, "race" means a
// controller with the race detector, and any other value is the name of a mutant. It makes a scenario in its own test process run with
// a mutant.
const Variable = "SUNSET_FAULTS_BUILD"

const (
	command    = "sunset-controller"
	controller = "./cmd/" + command
)

// flavour is one way to build the controller.
type flavour struct {
	name    string
	race    bool
	patches []overlay.Patch
}

var (
	plain   = flavour{name: "plain"}
	race    = flavour{name: "race", race: true}
	clocked = flavour{name: "clocked", patches: []overlay.Patch{{
		File: "cmd/sunset-controller/flags.go",
		Old:  "\t\"k8s.io/utils/clock\"\n",
		New:  "\tclock \"github.com/sunset-k8s/sunset/test/faults/build/shifted\"\n",
	}}}
	brief = flavour{name: "brief", patches: []overlay.Patch{
		{File: "policy/ledger/entry.go", Old: "RequestLife = 15 * time.Minute", New: "RequestLife = 40 * time.Second"},
		{File: "policy/ledger/entry.go", Old: "sendAgainFor = 5 * time.Minute", New: "sendAgainFor = 10 * time.Second"},
		{File: "controllers/ledgers/worker.go", Old: "stuckFirst = 15 * time.Minute", New: "stuckFirst = 40 * time.Second"},
	}}
)

// Default returns the path of the controller that replicas run by default.
func Default(t testing.TB) string {
	t.Helper()
	switch name := os.Getenv(Variable); name {
	case "", plain.name:
		return Plain(t)
	case race.name:
		return race.path(t)
	default:
		return Mutant(t, name)
	}
}

// Plain returns the path of the unmodified controller.
func Plain(t testing.TB) string { t.Helper(); return plain.path(t) }

// Clocked returns the path of a controller that reads a Clock. Without one (see Clock.Env) it reads the machine's clock.
func Clocked(t testing.TB) string { t.Helper(); return clocked.path(t) }

// Brief returns the path of a controller that waits only 40 seconds instead of 15 minutes for the end of DELETEs with an
// unknown result: twice as long as it waits for an answer. It is a mutant too if Variable names one.
func Brief(t testing.TB) string {
	t.Helper()
	mutant := os.Getenv(Variable)
	patches, ok := mutants[mutant]
	if !ok {
		return brief.path(t)
	}
	return flavour{name: brief.name + "-" + mutant, patches: slices.Concat(brief.patches, patches)}.path(t)
}

// Mutant returns the path of a controller without one of its safety mechanisms. name is one of Mutants.
func Mutant(t testing.TB, name string) string {
	t.Helper()
	patches, ok := mutants[name]
	if !ok {
		t.Fatalf("unknown mutant %q; known mutants: %v", name, Mutants())
	}
	return flavour{name: name, patches: patches}.path(t)
}

// done contains the builds of this process.
var done struct {
	sync.Mutex
	scratch *scratch.Dir
	made    map[string]func() error // by the name of the flavour, or the commit; nil before the first build
}

// path builds a flavour on first use and returns its path.
func (f flavour) path(t testing.TB) string { t.Helper(); return once(t, f.name, f.build) }

// once builds something on first use and returns its path. Concurrent callers with the same name wait for the same build.
func once(t testing.TB, name string, build func(path string) error) string {
	t.Helper()
	path, make, err := begun(name, build)
	expect.NoError(t, err)
	if err := make(); err != nil {
		t.Fatalf("build the controller, %s: %v", name, err)
	}
	return path
}

func begun(name string, build func(path string) error) (path string, make func() error, err error) {
	done.Lock()
	defer done.Unlock()
	if done.made == nil {
		if done.scratch, err = scratch.New(os.TempDir(), "sunset-controllers-*"); err != nil {
			return "", nil, err
		}
		done.made = map[string]func() error{}
	}
	path = done.scratch.Path(name)
	if done.made[name] == nil {
		done.made[name] = sync.OnceValue(func() error { return build(path) })
	}
	return path, done.made[name], nil
}

// build writes the controller to a path. The unmodified one is linked only once for all tests, as long as it does not change.
func (f flavour) build(path string) error {
	if !f.race && len(f.patches) == 0 {
		built, err := program.Build(context.Background(), filepath.Dir(path), command)
		if err != nil {
			return err
		}
		return os.Rename(built, path)
	}
	if err := asInputs(); err != nil {
		return err
	}
	args := []string{"-o", path}
	if f.race {
		args = append(args, "-race")
	}
	root, err := root()
	if err != nil {
		return err
	}
	return f.run(root, append(args, controller)...)
}

// run runs go build in the root of a repository, with the flavour's patches.
func (f flavour) run(root string, args ...string) error {
	changed, err := overlay.New(root, f.patches...)
	if err != nil {
		return err
	}
	defer changed.Remove()
	return goIn(root, slices.Concat([]string{"build"}, program.Flags(), []string{"-overlay", changed.Path()}, args)...)
}

// goIn runs the go command in a directory. It gives way to the replicas and control planes of other scenarios: without a build cache, the
// mutants need both processors for half an hour.
func goIn(dir string, args ...string) error {
	cmd := exec.Command("nice", slices.Concat([]string{"-n", "10", "go"}, args)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Remove removes all builds, at the end of a test process.
func Remove() {
	done.Lock()
	defer done.Unlock()
	if done.made != nil {
		_ = done.scratch.Remove() // if it fails, the files stay in the temporary directory
		done.made = nil
	}
}

// AsInputs makes the sources of the controller inputs of the test that runs, for tests that do not build the controller in their own
// process.
func AsInputs(t testing.TB) { t.Helper(); expect.NoError(t, asInputs()) }

var asInputs = sync.OnceValue(func() error {
	const module = "github.com/sunset-k8s/sunset/"
	return inputs.Sources(context.Background(), module+"cmd/"+command, module+"test/faults/build/shifted")
})

// root returns the directory of the module that contains the working directory.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod in the working directory or its parents")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
