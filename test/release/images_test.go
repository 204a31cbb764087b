// SPDX-License-Identifier: Apache-2.0

// Package release tests the programs and settings of a release, as far as that needs neither a registry nor Docker.
package release

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
)

// imageUser is the user ID of the images.
const imageUser = 65532

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	expect.NoError(t, err)
	return string(text)
}

// TestImagesAreOfNobody: all images have the same base and user, and the Go version of go.mod builds them.
func TestImagesAreOfNobody(t *testing.T) {
	dockerfile := read(t, ".ci/Dockerfile")
	stages := regexp.MustCompile(`(?m)^FROM (?:--platform=\$BUILDPLATFORM )?(\S+) AS (\S+)$`).FindAllStringSubmatch(dockerfile, -1)
	from := map[string]string{}
	for _, stage := range stages {
		from[stage[2]] = stage[1]
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	for stage, want := range map[string]string{
		"build": "golang:" + goVersion, "program": "gcr.io/distroless/static:nonroot", "sunset-controller": "program", "sunset-node-agent": "program",
	} {
		if from[stage] != want {
			t.Errorf("%s is from %s; want %s", stage, from[stage], want)
		}
	}
	if want := fmt.Sprintf("\nUSER %d:%d\n", imageUser, imageUser); strings.Count(dockerfile, "\nUSER ") != 1 || !strings.Contains(dockerfile, want) {
		t.Errorf("want user %d in all images", imageUser)
	}
}

// flags are the settings with which ko and GoReleaser build programs.
type flags struct{ Env, Flags, Ldflags []string }

// image is the settings of an image.
type image struct {
	Main, User string
	BaseImage  string `json:"base_image"`
	Platforms  []string
}

// TestKoAndGoReleaserBuildTheSameImages: they build both programs with the same settings, from the base of the Dockerfile.
func TestKoAndGoReleaserBuildTheSameImages(t *testing.T) {
	const base = "gcr.io/distroless/static:nonroot"
	platforms := []string{"linux/amd64", "linux/arm64"}
	built := flags{Env: []string{"CGO_ENABLED=0"}, Flags: []string{"-trimpath", "-tags=disable_grpc_modules,grpcnotrace"}, Ldflags: []string{"-s", "-w"}}
	var ko struct { // the fields that we use; https://ko.build/configuration
		DefaultBaseImage                         string
		DefaultPlatforms                         []string
		DefaultEnv, DefaultFlags, DefaultLdflags []string
	}
	expect.NoError(t, yaml.UnmarshalStrict([]byte(read(t, ".ko.yaml")), &ko))
	expect.Equal(t, ".ko.yaml: base", base, ko.DefaultBaseImage)
	expect.Equal(t, ".ko.yaml: platforms", platforms, ko.DefaultPlatforms)
	expect.Equal(t, ".ko.yaml: flags", built, flags{ko.DefaultEnv, ko.DefaultFlags, ko.DefaultLdflags})
	var release struct {
		Builds []flags
		Kos    []image
	}
	expect.NoError(t, yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &release))
	built.Ldflags = []string{"-s -w"}
	for i := range release.Builds { // the others set the version
		release.Builds[i].Ldflags = release.Builds[i].Ldflags[:1]
	}
	expect.Equal(t, ".goreleaser.yaml: flags", []flags{built}, release.Builds)
	user := fmt.Sprintf("%d:%d", imageUser, imageUser)
	expect.Equal(t, ".goreleaser.yaml: images", []image{
		{Main: "./cmd/sunset-controller", User: user, BaseImage: base, Platforms: platforms},
		{Main: "./cmd/sunset-node-agent", User: user, BaseImage: base, Platforms: platforms},
	}, release.Kos)
}

// TestPluginDescriptionFitsKrew: krew rejects a short description with more than 50 characters or a period at its end.
func TestPluginDescriptionFitsKrew(t *testing.T) {
	var release struct {
		Krews []struct {
			ShortDescription string `json:"short_description"`
		}
	}
	expect.NoError(t, yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &release))
	expect.Equal(t, "plugins", 1, len(release.Krews))
	for _, plugin := range release.Krews {
		if s := plugin.ShortDescription; s == "" || len(s) > 50 || strings.HasSuffix(s, ".") {
			t.Errorf("short description %q", s)
		}
	}
}
