// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed stages/*.yaml
var stages embed.FS

const (
	stagesFile = "kwok.yaml"
	// kwokNode marks the nodes that kwok simulates. kwok ignores Pods on other nodes.
	kwokNode, kwokNodeValue = "kwok.x-k8s.io/node", "fake"
)

// kwok simulates the fake nodes and their Pods according to stages/*.yaml; its binary has no built-in stages.
func (c *Cluster) kwok() *server {
	return &server{
		component: Kwok,
		scheme:    "https",
		ready:     c.healthy("/healthz"),
		// kwok v0.8.0 compiles its stages concurrently, and they share a map without a lock. On more than one thread, it has crashed
		// with "concurrent map read and map write".
		env: []string{"GOMAXPROCS=1"},
		args: func(port int) []string {
			return []string{
				"--kubeconfig=" + c.Kubeconfig(),
				"--config=" + c.scratch.Path(stagesFile),
				"--manage-nodes-with-annotation-selector=" + kwokNode + "=" + kwokNodeValue,
				"--node-ip=127.0.0.1",
				"--node-lease-duration-seconds=0",
				"--v=WARN", // at INFO it logs a line for every Pod
				fmt.Sprintf("--server-address=127.0.0.1:%d", port),
				"--tls-cert-file=" + c.scratch.Path(certFile),
				"--tls-private-key-file=" + c.scratch.Path(keyFile),
			}
		},
	}
}

// beginNodes starts kwok and at the same time creates the nodes that it simulates.
func (c *Cluster) beginNodes(ctx context.Context) error {
	config, err := kwokConfig()
	if err != nil {
		return err
	}
	if err := c.scratch.Write(stagesFile, []byte(config)); err != nil {
		return err
	}
	created := make(chan error, 1)
	go func() { created <- c.createNodes(ctx) }()
	begun := c.begin(ctx, c.kwok())
	if err := <-created; err != nil {
		return fmt.Errorf("create nodes: %w", err)
	}
	if begun != nil {
		return begun
	}
	return c.nodesReady(ctx)
}

// kwokConfig is all stages in one file, as kwok expects them.
func kwokConfig() (string, error) {
	names, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return "", err
	}
	var docs []string
	for _, name := range names {
		doc, err := stages.ReadFile(name)
		if err != nil {
			return "", err
		}
		docs = append(docs, string(doc))
	}
	return strings.Join(docs, "---\n"), nil
}
