// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"text/template"
)

// SandboxImage is the image of sandboxes. It exists from the start.
const SandboxImage = "sunset.test/pause:1"

// In both configurations the daemon uses only its own directory and /run/containerd. Sandboxes use the network of the
// machine, without network plugins. Sizes are collected every second. A container's root may not lower its OOM score below
// that of the daemon, hence restrict_oom_score_adj.
var configs = map[bool]*template.Template{
	true: template.Must(template.New("1").Parse(`version = 2
root = "{{.Dir}}/root"
state = "{{.Dir}}/state"
[grpc]
  address = "{{.Socket}}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{{.Dir}}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{{.SandboxImage}}"
  stats_collect_period = 1
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{{.Dir}}/cni"
    bin_dir = "{{.Dir}}/cni"
`)),
	false: template.Must(template.New("2").Parse(`version = 3
root = "{{.Dir}}/root"
state = "{{.Dir}}/state"
[grpc]
  address = "{{.Socket}}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{{.Dir}}/opt"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.images"]
  stats_collect_period = 1
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{{.SandboxImage}}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    conf_dir = "{{.Dir}}/cni"
    bin_dirs = ["{{.Dir}}/cni"]
`)),
}

// config returns the daemon's configuration.
func (d *Daemon) config(socket string) []byte {
	var text bytes.Buffer
	err := configs[d.isOld()].Execute(&text, map[string]string{
		"Dir": d.scratch.Path(""), "Socket": socket, "SandboxImage": SandboxImage,
	})
	if err != nil {
		panic(err) // writing to a buffer cannot fail
	}
	return text.Bytes()
}
