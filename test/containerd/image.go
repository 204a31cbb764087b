// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Image is an image that this package creates. The same fields create the same image.
type Image struct {
	Tags     []string // in full, such as "sunset.test/app:1"; at least one
	Digest   bool     // it also has a digest, as if it had been pulled
	Pinned   bool     // by a label, which containerd 1.6 does not read
	Runnable bool     // its program runs until it is stopped; with the argument "exit" it ends immediately
	Bytes    int      // of a file that cannot be compressed
}

// ID is the ID of the image in containerd.
func (i Image) ID() string { return i.make().id }

// RepoDigest is the name by digest that the image has in the repository of its first tag if Digest is set.
func (i Image) RepoDigest() string { return repository(i.Tags[0]) + "@" + i.make().manifest.Digest }

// repository is a name without its tag.
func repository(tag string) string { return tag[:strings.LastIndex(tag, ":")] }

// descriptor is an OCI reference to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const (
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
	configType   = "application/vnd.oci.image.config.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
)

// made is an image in OCI format.
type made struct {
	id       string
	names    []string // all its names
	pinned   bool
	manifest descriptor
	blobs    map[string][]byte // by digest, including the manifest
}

// blob adds a blob.
func (m *made) blob(mediaType string, content []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digest(content), Size: len(content)}
	m.blobs[d.Digest] = content
	return d
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// make creates the image: a layer of its own and, if it is Runnable, the layer with the program, which all such images
// share.
func (i Image) make() made {
	m := made{names: slices.Clone(i.Tags), pinned: i.Pinned, blobs: map[string][]byte{}}
	file := make([]byte, i.Bytes)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(i.Tags[0]))).Read(file) // never fails
	layers := []layer{newLayer(map[string][]byte{"tag": []byte(i.Tags[0]), "file": file})}
	if i.Runnable {
		layers = append(layers, pauseLayer())
	}
	var diffs []string
	var list []descriptor
	for _, l := range layers {
		diffs = append(diffs, l.diff)
		list = append(list, m.blob(layerType, l.zipped))
	}
	config := m.blob(configType, encode(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/pause"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffs},
	}))
	m.id = config.Digest
	m.manifest = m.blob(manifestType, encode(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": list,
	}))
	if i.Digest {
		m.names = append(m.names, repository(i.Tags[0])+"@"+m.manifest.Digest)
	}
	return m
}

// layer is a compressed tar archive of files, and the digest of the uncompressed tar.
type layer struct {
	diff   string
	zipped []byte
}

func newLayer(files map[string][]byte) layer {
	var plain, small bytes.Buffer
	writeTar(&plain, files)
	z := gzip.NewWriter(&small)
	must(z.Write(plain.Bytes()))
	must(0, z.Close())
	return layer{digest(plain.Bytes()), small.Bytes()}
}

// pauseLayer contains the program that all runnable images share.
var pauseLayer = sync.OnceValue(func() layer {
	pause, err := pauseProgram()
	must(0, err) // Start has built the program or failed
	return newLayer(map[string][]byte{"pause": pause})
})

// writeTar writes files in a fixed order.
func writeTar(to *bytes.Buffer, files map[string][]byte) {
	t := tar.NewWriter(to)
	for _, name := range sorted(files) {
		must(0, t.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name])), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}))
		must(t.Write(files[name]))
	}
	must(0, t.Close())
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	must(0, err)
	return text
}

// must panics on the error of a write to memory, which cannot fail.
func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}
