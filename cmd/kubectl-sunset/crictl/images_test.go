package crictl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/crictl"
	"github.com/sunset-k8s/sunset/engine"
)

func TestRead(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		list string
		want []engine.Image
		err  string
	}{
		"as crictl writes it": {
			`{"images": [{"id": "sha256:1", "repoTags": ["registry.example.com/app:v1"], "repoDigests": [], "size": "48211093",
			  "uid": {"value": "65535"}, "username": "", "spec": {"image": "sha256:1", "annotations": {}, "runtimeHandler": "gvisor"}, "pinned": true}]}`,
			[]engine.Image{{ID: "sha256:1", Tags: []string{"registry.example.com/app:v1"}, Digests: []string{}, SizeBytes: 48211093, Pinned: true, RuntimeHandler: "gvisor", FirstSeen: since}}, ""},
		"as older ones do":    {`{"images": [{"id": "sha256:1", "size": 7, "uid": null, "spec": null}]}`, []engine.Image{{ID: "sha256:1", SizeBytes: 7, FirstSeen: since}}, ""},
		"no image":            {`{"images": []}`, []engine.Image{}, ""},
		"no list":             {`{"items": []}`, nil, `there is no list "images"`},
		"no JSON":             {`IMAGE   TAG`, nil, "not what crictl images -o json writes: "},
		"an image without id": {`{"images": [{"id": "sha256:1"}, {"repoTags": ["a:1"]}]}`, nil, "image 2 of the list has no id"},
		"a size that is none": {`{"images": [{"id": "sha256:1", "size": "48.2MB"}]}`, nil, `"48.2MB" is no size in bytes`},
	}
	for name, test := range tests {
		got, err := crictl.Read(strings.NewReader(test.list), since)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
