// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/expect"
)

// one and other are complete image IDs without the algorithm.
var one, other = strings.Repeat("1", 64), strings.Repeat("2", 64)

func TestRead(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		list string
		want []engine.Image
		err  string
	}{
		"the format of crictl": {
			`{"images": [{"id": "sha256:` + one + `", "repoTags": ["registry.example.com/app:v1"], "repoDigests": [], "size": "48211093",
			  "uid": {"value": "65535"}, "username": "", "spec": {"image": "sha256:` + one + `", "annotations": {}, "runtimeHandler": "gvisor"}, "pinned": true}]}`,
			[]engine.Image{{ID: "sha256:" + one, Tags: []string{"registry.example.com/app:v1"}, Digests: []string{}, SizeBytes: 48211093, Pinned: true, RuntimeHandler: "gvisor", FirstSeen: since}}, ""},
		"the format of an older version": {`{"images": [{"id": "sha256:` + one + `", "size": 7, "uid": null, "spec": null}]}`, []engine.Image{{ID: "sha256:" + one, SizeBytes: 7, FirstSeen: since}}, ""},
		"no images":                      {`{"images": []}`, []engine.Image{}, ""},
		"an empty file":                  {" \n", nil, "not the output of crictl images -o json: it is empty"},
		"an incomplete list":             {`{"images": [{"id": "sha256:` + one, nil, "not the output of crictl images -o json: unexpected end of JSON input"},
		"no list":                        {`{"items": []}`, nil, `the list "images" is missing`},
		"no JSON":                        {`IMAGE   TAG`, nil, "not the output of crictl images -o json: invalid character"},
		"two lists":                      {`{"images": []} {"images": []}`, nil, "unexpected data after the list"},
		"text after the list":            {`{"images": []} done`, nil, "unexpected data after the list"},
		"an image without id":            {`{"images": [{"id": "sha256:` + one + `"}, {"repoTags": ["a:1"]}]}`, nil, "image 2 of the list: it has no id"},
		"a name instead of an id":        {`{"images": [{"id": "nginx"}]}`, nil, `image 1 of the list: "nginx" is not a full image ID`},
		"the same id twice":              {`{"images": [{"id": "sha256:` + one + `"}, {"id": "` + one + `"}]}`, nil, "image 2 of the list: " + one + " is listed twice"},
		"an artifact with two references": {
			`{"images": [{"id": "` + one + `", "repoTags": ["a:1"], "repoDigests": ["a@b"], "size": 7}, {"id": "` + one + `", "repoTags": ["a:2"], "repoDigests": [], "pinned": true}]}`,
			[]engine.Image{{ID: one, Tags: []string{"a:1", "a:2"}, Digests: []string{"a@b"}, SizeBytes: 7, Pinned: true, FirstSeen: since}}, ""},
		"an empty tag":    {`{"images": [{"id": "` + one + `", "repoTags": [""]}]}`, nil, one + " has an empty name"},
		"an empty digest": {`{"images": [{"id": "` + one + `", "repoDigests": ["a@b", ""]}]}`, nil, one + " has an empty name"},
		"a negative size": {`{"images": [{"id": "` + one + `", "size": "-7"}]}`, nil, one + " has a negative size: -7 bytes"},
		"an invalid size": {`{"images": [{"id": "` + one + `", "size": "48.2MB"}]}`, nil, `"48.2MB" is not a size in bytes`},
		"a total size that overflows": {`{"images": [{"id": "` + one + `", "size": "9223372036854775807"}, {"id": "` + other + `", "size": 1}]}`, nil,
			"the sizes of all images add up to 9223372036854775808 bytes"},
		"two images": {`{"images": [{"id": "sha256:` + one + `"}, {"id": "` + other + `"}]}`,
			[]engine.Image{{ID: "sha256:" + one, FirstSeen: since}, {ID: other, FirstSeen: since}}, ""},
	}
	for name, test := range tests {
		got, err := load.ReadCrictl(strings.NewReader(test.list), since)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
		expect.Equal(t, name, test.want, got)
	}
}
