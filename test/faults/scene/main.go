package scene

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
	seedFlag   = flag.Int64("seed", 0, "where the random choices of scenes begin; 0 for a new number")
	besideFlag = flag.Int("beside", 5, "how many scenes run side by side")
	patience   = flag.Duration("patience", 3*time.Minute, "how long a scene waits for what must happen")
)

// Patience is how long a scene waits for what must happen: much longer than it takes on a busy machine.
func Patience() time.Duration { return *patience }

// lane is the environment variable that makes long scenarios run.
const lane = "SUNSET_FAULTS"

// Main is the body of TestMain. It returns the code for os.Exit. Control planes start when the first scene needs them.
func Main(m *testing.M) (code int) {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(os.Stderr)))
	_ = flag.Set("test.parallel", "1000") // who waits for a place in the hall holds up nobody
	shared.hall.places = *besideFlag
	defer build.Remove()
	defer func() {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "cluster:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

// Short marks a scenario that every run of the tests includes. It runs beside others.
func Short(t *testing.T) { t.Parallel() }

// Long marks a scenario that only runs with SUNSET_FAULTS=all in the environment, as in make faults. It runs beside others.
func Long(t *testing.T) {
	t.Helper()
	if !long() {
		t.Skipf("%s=all runs it, as make faults does", lane)
	}
	t.Parallel()
}

// long tells whether long scenarios run too.
func long() bool { return os.Getenv(lane) == "all" }

// Seed is where the random choices of this run begin: what -seed says, or a new number.
func Seed() int64 { return seed() }

var seed = sync.OnceValue(func() int64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return rand.Int64N(1<<31-1) + 1
})

// Repeat says how to repeat a scene whose test alone, with the seed of this run, does not do it. What is zero is as usual.
type Repeat struct {
	Test string // the name of the test to run
	Env  string // variables to set besides SUNSET_FAULTS, as in "A=1"
	Seed int64  // for -seed
}

// command is what repeats a test.
func (r Repeat) command(name, dir string) string {
	var parts []string
	for part := range strings.SplitSeq(cmp.Or(r.Test, name), "/") {
		parts = append(parts, "^"+part+"$")
	}
	env := lane + "=all"
	if r.Env != "" {
		env += " " + r.Env
	}
	if flavour := os.Getenv(build.Variable); flavour != "" {
		env += " " + build.Variable + "=" + flavour
	}
	return fmt.Sprintf("%s go test %s -run '%s' -seed %d", env, dir, strings.Join(parts, "/"), cmp.Or(r.Seed, Seed()))
}

// packageDir is the package under test, from the root of the repository.
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
