// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
)

// importTimeout bounds the time until CRI lists imported images. containerd informs CRI through events.
const importTimeout = 2 * time.Minute

// Import creates images, imports them into containerd and returns when CRI lists them with all names.
func (d *Daemon) Import(ctx context.Context, images ...Image) error {
	var all []made
	for _, i := range images {
		all = append(all, i.make())
	}
	path := d.scratch.Path("import.tar")
	if err := os.WriteFile(path, archive(all), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }()
	args := []string{"images", "import"}
	if !slices.ContainsFunc(images, func(i Image) bool { return i.Runnable }) {
		args = append(args, "--no-unpack") // no container runs them
	}
	if _, err := d.Ctr(ctx, append(args, path)...); err != nil {
		return err
	}
	for _, m := range all {
		if !m.pinned {
			continue
		}
		if _, err := d.Ctr(ctx, "images", "label", m.names[0], "io.cri-containerd.pinned=pinned"); err != nil {
			return err
		}
	}
	return d.listed(ctx, all)
}

// Ctr runs containerd's own client in the namespace of CRI, and returns its output.
func (d *Daemon) Ctr(ctx context.Context, args ...string) (string, error) {
	address := strings.TrimPrefix(d.Endpoint, "unix://")
	cmd := exec.CommandContext(ctx, d.programs.ctr, append([]string{"--address", address, "--namespace", "k8s.io"}, args...)...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ctr %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out.String(), nil
}

// archive is an OCI layout with images; an annotation contains each name for containerd.
func archive(images []made) []byte {
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	var index []descriptor
	for _, m := range images {
		for digest, blob := range m.blobs {
			files["blobs/"+strings.Replace(digest, ":", "/", 1)] = blob
		}
		for _, name := range m.names {
			entry := m.manifest
			entry.Annotations = map[string]string{"io.containerd.image.name": name}
			index = append(index, entry)
		}
	}
	files["index.json"] = encode(map[string]any{"schemaVersion": 2, "manifests": index})
	var all bytes.Buffer
	writeTar(&all, files)
	return all.Bytes()
}

func sorted(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }

// listed waits until CRI lists all images.
func (d *Daemon) listed(ctx context.Context, images []made) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	for {
		err := d.lists(ctx, images)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("imported, but %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (d *Daemon) lists(ctx context.Context, images []made) error {
	all, err := d.runtime.Images(ctx)
	if err != nil {
		return err
	}
	has := map[string]cri.Image{}
	for _, i := range all {
		has[i.ID] = i
	}
	for _, m := range images {
		i := has[m.id]
		for _, name := range m.names {
			if !slices.Contains(i.Tags, name) && !slices.Contains(i.Digests, name) {
				return fmt.Errorf("image %s is not listed as %s", m.id, name)
			}
		}
		if m.pinned && !d.isOld() && !i.Pinned {
			return fmt.Errorf("image %s is not listed as pinned", m.id)
		}
	}
	return nil
}
