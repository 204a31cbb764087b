package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
)

var at = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestArchiveIsTheSameEachTime: it contains the executable program and the license, and nothing about its builder.
func TestArchiveIsTheSameEachTime(t *testing.T) {
	var archives [2]bytes.Buffer
	for i := range archives {
		program := write(t, t.TempDir(), "kubectl-sunset", "a program")
		expect.NoError(t, pack(&archives[i], at, program, "../../LICENSE"))
	}
	if !bytes.Equal(archives[0].Bytes(), archives[1].Bytes()) {
		t.Error("two archives of the same files differ")
	}
	unzipped, err := gzip.NewReader(&archives[0])
	expect.NoError(t, err)
	var got []string
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		expect.NoError(t, err)
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		got = append(got, header.FileInfo().Mode().String()+" "+header.Name+" "+first)
		if !header.ModTime.Equal(at) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s: %v", header.Name, header)
		}
	}
	want := []string{"-rwxr-xr-x kubectl-sunset a program", "-rw-r--r-- LICENSE Apache License"}
	expect.Equal(t, "content", want, got)
}

func TestVersionsThatCanBeReleased(t *testing.T) {
	for version, want := range map[string]bool{"v1.2.3": true, "v0.1.0-rc.1": true, "": false, "1.2.3": false, "v1.2": false, "v1.2.3/../x": false} {
		if got := versions.MatchString(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

// plugin is the part of a krew manifest that we use; krew requires all of it.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			Sha256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// TestManifestForKrew: krew accepts the filled-in manifest, which has the built archives with their checksums.
func TestManifestForKrew(t *testing.T) {
	const version = "v1.2.3"
	dir, sums := t.TempDir(), map[platform]string{}
	for _, p := range platforms {
		sum, err := checksum(write(t, dir, p.archive(version), p.os+p.arch))
		expect.NoError(t, err)
		sums[p] = sum
	}
	template, err := os.ReadFile("../../.krew.yaml")
	expect.NoError(t, err)
	text, err := fill(string(template), version, dir)
	expect.NoError(t, err)
	var m plugin
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for what, ok := range map[string]bool{
		"the apiVersion":           m.APIVersion == "krew.googlecontainertools.github.com/v1alpha2",
		"the kind":                 m.Kind == "Plugin",
		"the name of sunset.yaml":  m.Metadata.Name == "sunset",
		"the version":              m.Spec.Version == version,
		"a homepage":               strings.HasPrefix(m.Spec.Homepage, "https://github.com/"),
		"a short shortDescription": len(m.Spec.ShortDescription) <= 50 && !strings.HasSuffix(m.Spec.ShortDescription, "."),
		"a description":            m.Spec.Description != "" && m.Spec.Caveats != "",
		"every platform":           len(m.Spec.Platforms) == len(platforms),
	} {
		if !ok {
			t.Errorf("the manifest lacks %s:\n%s", what, text)
		}
	}
	for _, got := range m.Spec.Platforms {
		p := platform{got.Selector.MatchLabels["os"], got.Selector.MatchLabels["arch"]}
		if len(got.Selector.MatchLabels) != 2 || sums[p] == "" || got.Sha256 != sums[p] || got.Bin != p.program() ||
			got.URI != m.Spec.Homepage+"/releases/download/"+version+"/"+p.archive(version) {
			t.Errorf("%v: %+v", p, got)
		}
		delete(sums, p)
	}
	if left := regexp.MustCompile(`\{\{|no value`).FindString(text); left != "" || len(sums) > 0 {
		t.Errorf("unfilled parts: %q; unused platforms: %v", left, sums)
	}
	if _, err := fill(string(template), "v9.9.9", dir); err == nil {
		t.Error("a manifest without archives was filled in")
	}
}
