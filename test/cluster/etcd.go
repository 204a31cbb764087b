// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
)

// etcd keeps its data in the scratch directory and never syncs it to disk. It loses data only if the machine crashes.
func (c *Cluster) etcd() *server {
	name := filepath.Base(c.scratch.Path("")) // unique; isMember looks for it
	return &server{
		component: Etcd,
		scheme:    "http",
		ready:     isMember(name),
		args: func(port int) []string {
			url := fmt.Sprintf("http://127.0.0.1:%d", port)
			return []string{
				"--name=" + name,
				"--data-dir=" + c.scratch.Path(etcdDir),
				"--listen-client-urls=" + url,
				"--advertise-client-urls=" + url,
				"--listen-peer-urls=http://127.0.0.1:0", // there are no other members
				"--unsafe-no-fsync",
				"--quota-backend-bytes=8589934592", // 8 GiB: benchmarks write 100,000 objects and more
				"--log-level=warn",
			}
		},
	}
}

// isMember returns a check that the member list of the etcd on a port contains this name. Only an etcd with a leader can
// return the list.
func isMember(name string) func(context.Context, int) error {
	client := &http.Client{}
	return func(ctx context.Context, port int) error {
		url := fmt.Sprintf("http://127.0.0.1:%d/v3/cluster/member/list", port)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		body, err := do(client, req)
		if err == nil && !bytes.Contains(body, []byte(name)) {
			err = fmt.Errorf("another etcd listens on port %d", port)
		}
		return err
	}
}
