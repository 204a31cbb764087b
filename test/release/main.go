// Command release builds the archives of kubectl-sunset for every platform and fills in the krew manifest, like "make
// archives". It publishes nothing.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// platforms are the platforms of the manifest.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// platform is an operating system and an architecture, with their names in Go.
type platform struct{ os, arch string }

func (p platform) program() string {
	if p.os == "windows" {
		return "kubectl-sunset.exe"
	}
	return "kubectl-sunset"
}

func (p platform) archive(version string) string {
	return fmt.Sprintf("kubectl-sunset_%s_%s_%s.tar.gz", version, p.os, p.arch)
}

func main() {
	version := flag.String("version", "", "version to build, such as v1.2.3")
	dir := flag.String("o", "dist", "folder for the archives, their checksums and sunset.yaml, the krew manifest")
	flag.Parse()
	if err := release(*version, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var versions = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func release(version, dir string) error {
	if !versions.MatchString(version) {
		return fmt.Errorf("invalid version %q, want a version such as v1.2.3", version)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	at, err := commitTime()
	if err != nil {
		return err
	}
	sums := ""
	for _, p := range platforms {
		if err := build(p, version, dir, at); err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
		sum, err := checksum(filepath.Join(dir, p.archive(version)))
		if err != nil {
			return err
		}
		sums += sum + "  " + p.archive(version) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(sums), 0o644); err != nil {
		return err
	}
	template, err := os.ReadFile(".krew.yaml")
	if err != nil {
		return err
	}
	manifest, err := fill(string(template), version, dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sunset.yaml"), []byte(manifest), 0o644)
}

// commitTime returns the time of the commit, so that archives of the same commit are equal.
func commitTime() (time.Time, error) {
	out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("git log: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// build builds the archive of one platform.
func build(p platform, version, dir string, at time.Time) error {
	work, err := os.MkdirTemp("", "sunset-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	program := filepath.Join(work, p.program())
	command := exec.Command("go", "build", "-trimpath", "-o", program,
		"-ldflags", "-s -w -X github.com/sunset-k8s/sunset/controllers/process/version.version="+version, "./cmd/kubectl-sunset")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, p.archive(version)))
	if err != nil {
		return err
	}
	if err := pack(file, at, program, "LICENSE"); err != nil {
		return err
	}
	return file.Close()
}
