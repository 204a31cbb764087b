// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/distribution/reference"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/expect"
)

// known returns the uses of a runtime without containers.
func known(t *testing.T) cri.Uses {
	t.Helper()
	_, r := dial(t, cri.Options{})
	u, err := r.Uses(context.WithoutCancel(t.Context()))
	expect.NoError(t, err)
	return u
}

func TestNamesThatMeanAnImage(t *testing.T) {
	id, digest := critest.ID(1), critest.ID(99)
	hub := cri.Image{ID: id, Tags: []string{"docker.io/library/nginx:latest", "docker.io/library/nginx:1.27"}, Digests: []string{"docker.io/library/nginx@" + digest}}
	private := cri.Image{ID: id, Tags: []string{"registry.corp:5000/team/app:1"}, Digests: []string{"registry.corp:5000/team/app@" + digest}}
	bare := cri.Image{ID: strings.TrimPrefix(id, "sha256:")}
	for _, test := range []struct {
		name  string
		image cri.Image
		want  bool
	}{
		{id, hub, true},
		{strings.TrimPrefix(id, "sha256:"), hub, true},
		{id, bare, true},
		{bare.ID, bare, true},
		{digest, hub, true},
		{strings.TrimPrefix(digest, "sha256:"), hub, true},
		{"nginx", hub, true},
		{"nginx:latest", hub, true},
		{"library/nginx", hub, true},
		{"docker.io/nginx:1.27", hub, true},
		{"docker.io/library/nginx:1.27", hub, true},
		{"index.docker.io/library/nginx:1.27", hub, true},
		{"nginx@" + digest, hub, true},
		{"nginx:other@" + digest, hub, true},
		{"mirror.corp/nginx@" + digest, hub, true}, // the same content
		{"nginx:1.27@" + critest.ID(5), hub, true}, // tag and digest contradict each other: counts as used
		{"nginx:1.2", hub, false},
		{"nginx:1.27.1", hub, false},
		{"nginx@" + critest.ID(5), hub, false},
		{"quay.io/nginx", hub, false},
		{id[:20], hub, false}, // only the runtime can resolve it
		{critest.ID(2), hub, false},
		{"registry.corp:5000/team/app:1", private, true},
		{"registry.corp:5000/team/app@" + digest, private, true},
		{"registry.corp:5000/team/app", private, false},
		{"registry.corp/team/app:1", private, false},
		{"team/app:1", private, false},
		{"Not A Name", private, false},
		{"Not A Name", cri.Image{ID: id, Tags: []string{"Not A Name"}}, true},
		{"", cri.Image{ID: id}, false},
	} {
		u := known(t)
		u.Add(cri.Use{By: "pod", ID: "p", Name: test.name})
		use, got := u.Of(test.image)
		expect.Equal(t, fmt.Sprintf("%q means the image", test.name), test.want, got)
		if got && use.String() != "pod p, as "+test.name {
			t.Errorf("the reason is %q", use)
		}
	}
}

func TestZeroUsesHasEverythingInUse(t *testing.T) {
	var u cri.Uses
	u.Add(cri.Use{By: "pod", Name: "nginx"})
	if use, ok := u.Of(cri.Image{ID: critest.ID(1)}); !ok || use.By != cri.ByUnknownState {
		t.Errorf("%v, %t", use, ok)
	}
}

func TestFirstUseStays(t *testing.T) {
	u := known(t)
	u.Add(cri.Use{By: "first", Name: "nginx"})
	u.Add(cri.Use{By: "second", Name: "docker.io/library/nginx:latest"})
	if use, _ := u.Of(cri.Image{ID: critest.ID(1), Tags: []string{"docker.io/library/nginx:latest"}}); use.By != "first" {
		t.Errorf("%v", use)
	}
}

func FuzzFullIDs(f *testing.F) {
	for _, seed := range []string{critest.ID(1), "nginx", "", "sha256:", strings.Repeat("0", 64), strings.Repeat("0", 63)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if engine.IsImageID(id) && (len(id) < 64 || strings.ContainsAny(id, "@/\n ")) {
			t.Errorf("%q is a full ID", id)
		}
	})
}

// FuzzAnImageIsFoundByWhatItsNamesMean: an image with a listed name is in use if anything uses a name that the grammar derives
// from it. Most names are not parsed, and must have the same result.
func FuzzAnImageIsFoundByWhatItsNamesMean(f *testing.F) {
	digest := critest.ID(99)
	for _, name := range []string{
		"nginx", "nginx:1", "library/nginx", "docker.io/nginx:1", "docker.io/library/nginx:1", "docker.io/nginx", "index.docker.io/library/nginx:1",
		"localhost/app:1", "localhost:5000/app:1", "quay.io/team/app", "quay.io/team/app:1", "quay.io/app:1@" + digest, "quay.io/app@" + digest,
		"docker.io/nginx@" + digest, "docker.io/library/nginx@" + digest, "index.docker.io/a/b@" + digest, "[::1]:5000/app:1", "registry.corp:5000/app",
		"registry.corp:5000/app@" + digest, "UPPER/app:1", "quay.io/app@sha512:" + strings.Repeat("0f", 64), "quay.io/app@sha384:" + strings.Repeat("0f", 48),
		"quay.io/:1", "quay.io/@" + digest, "a.b/c:d:e", "a.b/c:d/e", "a.b/c/:d", "quay.io//a:1", digest, "@" + digest, "/:", "./a:1",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		named, err := reference.ParseNormalizedNamed(name)
		if err != nil || engine.IsImageID(name) { // not a name
			return
		}
		meant := []string{named.String()}
		if tagged, ok := named.(reference.Tagged); ok {
			meant = append(meant, named.Name()+":"+tagged.Tag())
		}
		if digested, ok := named.(reference.Digested); ok {
			meant = append(meant, digested.Digest().String())
		} else {
			meant = append(meant, reference.TagNameOnly(named).String())
		}
		image := cri.Image{ID: critest.ID(1), Tags: []string{name}}
		for _, m := range meant {
			uses := cri.NewUses()
			uses.Add(cri.Use{By: "test", Name: m})
			if _, used := uses.Of(image); !used {
				t.Errorf("image %q is not in use although %q is used", name, m)
			}
		}
	})
}
