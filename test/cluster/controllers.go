// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strconv"
	"strings"
)

// controllerManager runs the wanted controllers as an administrator. Its flags disable the client-side rate limit of 20 requests a
// second, which would dominate every measurement.
func (c *Cluster) controllerManager() *server {
	return &server{
		component: ControllerManager,
		scheme:    "https",
		ready:     c.healthy("/healthz"),
		args: func(port int) []string {
			return []string{
				"--kubeconfig=" + c.Kubeconfig(),
				"--leader-elect=false",
				"--bind-address=127.0.0.1",
				"--secure-port=" + strconv.Itoa(port),
				"--tls-cert-file=" + c.scratch.Path(certFile),
				"--tls-private-key-file=" + c.scratch.Path(keyFile),
				"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
				"--kube-api-qps=5000",
				"--kube-api-burst=5000",
				"--controllers=" + strings.Join(c.opts.controllers(), ","),
				"--service-account-private-key-file=" + c.scratch.Path(signingFile),
			}
		},
	}
}
