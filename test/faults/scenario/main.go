// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sunset-k8s/sunset/test/faults/build"
)

var (
	seedFlag   = flag.Int64("seed", 0, "seed of the random choices in scenarios; 0 for a random seed")
	besideFlag = flag.Int("beside", 5, "number of scenarios that run in parallel")
	patience   = flag.Duration("patience", 3*time.Minute, "how long a scenario waits for an expected event")
)

// Patience is how long a scenario waits for an expected event: much longer than the event takes on a busy machine.
func Patience() time.Duration { return *patience }

// lane is the environment variable that enables long scenarios.
const lane = "SUNSET_FAULTS"

// Main is the body of TestMain. It returns the code for os.Exit. Control planes start when a scenario first needs them.
// At the end, it repeats the tests whose runs were void.
func Main(m *testing.M) (code int) {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	_ = flag.Set("test.parallel", "1000") // tests that wait for the lock must not block others
	shared.hall.places = *besideFlag
	defer build.Remove()
	stalled.watch()
	code = m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		code = max(code, 1)
	}
	return max(code, repeatVoid())
}

// Short marks a scenario that every test run includes. It runs in parallel with others.
func Short(t *testing.T) { t.Parallel() }

// Long marks a scenario that runs only with SUNSET_FAULTS=all in the environment, as in make faults. It runs in parallel with
// others.
func Long(t *testing.T) {
	t.Helper()
	if !long() {
		t.Skipf("set %s=all to run it, or run make faults", lane)
	}
	t.Parallel()
}

// long reports whether long scenarios run too.
func long() bool { return os.Getenv(lane) == "all" }

// Seed returns the seed of the random choices of this run: the value of -seed, or a random one.
func Seed() int64 { return seed() }

var seed = sync.OnceValue(func() int64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return rand.Int64N(1<<31-1) + 1
})

// Repeat says how to repeat a scenario, if running its test with the seed of this run is not enough. Zero fields have their
// default.
type Repeat struct {
	Test string // name of the test to run
	Env  string // variables to set in addition to SUNSET_FAULTS, as in "A=1"
	Seed int64  // for -seed
}

// command returns the command that repeats a test.
func (r Repeat) command(name, dir string) string {
	env := lane + "=all"
	if r.Env != "" {
		env += " " + r.Env
	}
	if flavour := os.Getenv(build.Variable); flavour != "" {
		env += " " + build.Variable + "=" + flavour
	}
	return fmt.Sprintf("%s go test %s -run '%s' -seed %d", env, dir, only(cmp.Or(r.Test, name)), cmp.Or(r.Seed, Seed()))
}

// packageDir returns the package under test, relative to the root of the repository.
func packageDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	if _, below, found := strings.Cut(filepath.ToSlash(dir), "/test/"); found {
		return "./test/" + below
	}
	return "."
}
