// SPDX-License-Identifier: Apache-2.0

package release

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sunset-k8s/sunset/policy/timezone"
	"github.com/sunset-k8s/sunset/test/expect"
)

// most has the maximum number of bytes of each program in an image. The controller contains the client libraries of three clouds.
var most = map[string]int64{"sunset-controller": 83_000_000, "sunset-node-agent": 62_000_000}

// TestProgramsOfImages builds what the Dockerfile builds, as far as possible without a registry. The copied files are
// enough to build programs for both architectures. The programs are static and small, contain their build information, and
// run without other files.
func TestProgramsOfImages(t *testing.T) {
	source, err := os.ReadFile("../../.ci/Dockerfile")
	expect.NoError(t, err)
	context := copied(t, string(source))
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			out := t.TempDir()
			script := command(t, string(source), out)
			if arch != runtime.GOARCH { // only compile: to link takes ten seconds
				script = strings.NewReplacer("go build", "go list -export -deps -f {{context.GOOS}}/{{context.GOARCH}}", "-o "+out+"/ ", "").Replace(script)
			}
			build := exec.Command("sh", "-ec", script)
			build.Dir = context
			build.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+arch, "VERSION=v1.2.3", "COMMIT=c0ffee", "DATE=2026-03-01T12:00:00Z")
			said, err := build.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			if arch != runtime.GOARCH {
				expect.Equal(t, "platform of all packages", "", strings.TrimSpace(strings.ReplaceAll(string(said), "linux/"+arch, "")))
			} else {
				for _, program := range []string{"sunset-controller", "sunset-node-agent"} {
					expectStatic(t, filepath.Join(out, program))
					expectAlone(t, filepath.Join(out, program))
				}
			}
		})
	}
}

// copied returns a folder with the files that the Dockerfile copies. The .dockerignore file must include all of them.
func copied(t *testing.T, dockerfile string) string {
	t.Helper()
	sent, err := os.ReadFile("../../.ci/Dockerfile.dockerignore")
	expect.NoError(t, err)
	context := t.TempDir()
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(dockerfile, -1) {
		for _, name := range strings.Fields(match[1]) {
			if !strings.Contains(string(sent), "\n!"+name+"\n") {
				t.Errorf(".dockerignore excludes %s", name)
			}
			from, to := filepath.Join("../..", name), filepath.Join(context, name)
			text, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(to, text, 0o644)
			} else { // a directory
				err = os.CopyFS(to, os.DirFS(from))
			}
			expect.NoError(t, err)
		}
	}
	return context
}

// command returns the Dockerfile's build command, with another output folder.
func command(t *testing.T, dockerfile, out string) string {
	t.Helper()
	match := regexp.MustCompile(`(?s)\nRUN [^\n]*go-build \\\n(.*?)\n\n`).FindStringSubmatch(dockerfile)
	if match == nil || !strings.Contains(match[1], " /out/ ") {
		t.Fatalf("this Dockerfile does not build into /out/:\n%s", dockerfile)
	}
	return strings.NewReplacer("\\\n", "", " /out/ ", " "+out+"/ ").Replace(match[1])
}

func expectStatic(t *testing.T, name string) {
	t.Helper()
	file, err := elf.Open(name)
	expect.NoError(t, err)
	defer func() { _ = file.Close() }()
	info, err := os.Stat(name)
	expect.NoError(t, err)
	libraries, _ := file.ImportedLibraries() // an error means that the section is missing
	if file.Section(".interp") != nil || file.Section(".dynamic") != nil || len(libraries) > 0 {
		t.Errorf("%s: libraries %v; want a static program", name, libraries)
	}
	if file.Section(".symtab") != nil || file.Section(".debug_info") != nil {
		t.Errorf("%s is not stripped", name)
	}
	t.Logf("%s: %.1f MB", filepath.Base(name), float64(info.Size())/1e6)
	if limit := most[filepath.Base(name)]; info.Size() > limit {
		t.Errorf("%s has %d bytes, more than %d", name, info.Size(), limit)
	}
}

// expectAlone runs a program as a non-root user in a root directory without other files.
func expectAlone(t *testing.T, name string) {
	t.Helper()
	program, root := filepath.Base(name), t.TempDir()
	expect.NoError(t, os.Rename(name, filepath.Join(root, program)))
	version := "%s v1.2.3 (commit c0ffee of 2026-03-01T12:00:00Z, %s, tzdata " + timezone.Version() + ", linux/%s)\n"
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--version"}, 0, fmt.Sprintf(version, program, runtime.Version(), runtime.GOARCH)},
		{nil, 2, program + ": find the API server: the program does not run in a Pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): set --kubeconfig\n"},
	} {
		run := exec.Command("/"+program, test.args...)
		run.Dir, run.Env, run.SysProcAttr = "/", []string{"NODE_NAME=a"}, shutIn(root)
		said, err := run.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := run.ProcessState.ExitCode(); code != test.code || string(said) != test.want {
			t.Errorf("%s %v: exit %d, %q; want %d, %q", program, test.args, code, said, test.code, test.want)
		}
	}
}

// shutIn makes a process see only one folder. A non-root user needs a user namespace for that.
func shutIn(root string) *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
	}
	return &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: imageUser, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: imageUser, HostID: os.Getgid(), Size: 1}}}
}
