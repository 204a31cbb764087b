// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/engine"
)

func id(letters string) string { return "sha256:" + strings.Repeat(letters, 64/len(letters)) }

var images = []engine.Image{
	{ID: id("aa"), Tags: []string{"docker.io/library/nginx:1.25", "registry.example.com/web/nginx:stable"}, Digests: []string{"docker.io/library/nginx@" + id("a1")}},
	{ID: id("b0"), Tags: []string{"registry.example.com:5000/web/nginx:1.25"}},
	{ID: strings.TrimPrefix(id("b1"), "sha256:"), Tags: []string{"docker.io/team/app:latest"}},
	{ID: id("c0"), Tags: []string{"registry.example.com/shop/cart:v1"}},
	{ID: id("c1"), Tags: []string{"other.example.com/shop/cart:v1"}},
	{ID: id("c2"), Tags: []string{"registry.example.com/shop/cart:v2"}},
	{ID: strings.Repeat("c2", 20) + strings.Repeat("0", 24)},
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"docker.io/library/nginx:1.25":             id("aa"),
		"registry.example.com/web/nginx:stable":    id("aa"),
		"docker.io/library/nginx@" + id("a1"):      id("aa"),
		"nginx@" + id("a1"):                        id("aa"),
		"nginx:1.25@" + id("a1"):                   id("aa"),
		id("a1"):                                   id("aa"),
		id("b0"):                                   id("b0"),
		strings.Repeat("b0", 32):                   id("b0"),
		id("b1"):                                   strings.Repeat("b1", 32), // without the algorithm, as in CRI-O
		"nginx:1.25":                               id("aa"),                 // the completed name has precedence over the end of a name
		"library/nginx:1.25":                       id("aa"),
		"docker.io/nginx:1.25":                     id("aa"),
		"index.docker.io/library/nginx:1.25":       id("aa"),
		"docker.io/nginx@" + id("a1"):              id("aa"),
		"web/nginx:1.25":                           id("b0"),
		"nginx:stable":                             id("aa"),
		"team/app":                                 strings.Repeat("b1", 32),
		"app":                                      strings.Repeat("b1", 32),
		"registry.example.com/shop/cart:v1":        id("c0"),
		"cart:v2":                                  id("c2"),
		strings.Repeat("aa", 6) + "a":              id("aa"),
		"sha256:" + strings.Repeat("b1", 6):        strings.Repeat("b1", 32),
		"registry.example.com:5000/web/nginx:1.25": id("b0"),
	} {
		got, err := load.FindImage(images, name)
		if err != nil || got.ID != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

func TestFindNothing(t *testing.T) {
	for name, want := range map[string]string{
		"cart:v1":                      "image name cart:v1 is ambiguous; it matches other.example.com/shop/cart:v1, registry.example.com/shop/cart:v1",
		"cart:v9":                      "image cart:v9 not found; found other.example.com/shop/cart:v1, registry.example.com/shop/cart:v1, registry.example.com/shop/cart:v2",
		"example.com/nginx":            "image example.com/nginx not found; found docker.io/library/nginx:1.25, ",
		"docker.io/team/apo:latest":    "did you mean docker.io/team/app:latest?",
		"inx:1.25":                     "image inx:1.25 not found",
		strings.Repeat("c2", 6):        "is ambiguous; it matches ",
		strings.Repeat("a", 11):        "image aaaaaaaaaaa not found",
		"nothing/like/anything/at:all": "image nothing/like/anything/at:all not found",
		"":                             "not found",
	} {
		if got, err := load.FindImage(images, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", name, got, err, want)
		}
	}
}
