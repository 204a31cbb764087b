package cluster

import (
	"strconv"
	"strings"
)

// controllerManager runs the wanted controllers as an administrator. It disables the client-side rate limit of 20 requests
// a second, which would dominate every measurement.
func (c *Cluster) controllerManager() *server {
	return &server{
		component: ControllerManager,
		scheme:    "https",
		ready:     c.healthy("/healthz"),
		args: func(port int) []string {
			args := append(c.controllerArgs(port),
				"--controllers="+strings.Join(c.opts.controllers(), ","),
				"--service-account-private-key-file="+c.scratch.path(signingFile),
				"--kube-api-qps=5000",
				"--kube-api-burst=5000",
			)
			return append(args, c.opts.ControllerManagerArgs...)
		},
	}
}

// scheduler binds Pods without spec.nodeName to nodes.
func (c *Cluster) scheduler() *server {
	return &server{
		component: Scheduler,
		scheme:    "https",
		ready:     c.healthy("/healthz"),
		args: func(port int) []string {
			args := append(c.controllerArgs(port), "--kube-api-qps=5000", "--kube-api-burst=5000")
			return append(args, c.opts.SchedulerArgs...)
		},
	}
}

// controllerArgs are the flags that controller manager and scheduler share.
func (c *Cluster) controllerArgs(port int) []string {
	return append([]string{
		"--kubeconfig=" + c.Kubeconfig(),
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.scratch.path(certFile),
		"--tls-private-key-file=" + c.scratch.path(keyFile),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
	}, c.opts.featureGates()...)
}
