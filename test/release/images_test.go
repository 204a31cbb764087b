package main

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

// TestImagesAreOfNobody: all images have the same base and user, the Go version of go.mod builds them, and ko builds the
// same.
func TestImagesAreOfNobody(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../..", name))
		expect.NoError(t, err)
		return string(text)
	}
	dockerfile := read(".ci/Dockerfile")
	stages := regexp.MustCompile(`(?m)^FROM (?:--platform=\$BUILDPLATFORM )?(\S+) AS (\S+)$`).FindAllStringSubmatch(dockerfile, -1)
	from := map[string]string{}
	for _, stage := range stages {
		from[stage[2]] = stage[1]
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("go.mod"))[1]
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
	var ko struct { // the fields that we use; https://ko.build/configuration
		DefaultBaseImage string   `json:"defaultBaseImage"`
		DefaultPlatforms []string `json:"defaultPlatforms"`
		DefaultEnv       []string `json:"defaultEnv"`
		DefaultFlags     []string `json:"defaultFlags"`
		DefaultLdflags   []string `json:"defaultLdflags"`
	}
	expect.NoError(t, yaml.UnmarshalStrict([]byte(read(".ko.yaml")), &ko))
	got := fmt.Sprint(ko)
	if want := "{gcr.io/distroless/static:nonroot [linux/amd64 linux/arm64] [CGO_ENABLED=0] [-trimpath] [-s -w]}"; got != want {
		t.Errorf(".ko.yaml: %s; want %s", got, want)
	}
}
