// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/process/features"
)

// options holds the settings from the command line and the configuration file.
type options struct {
	*program.Flags
	gates  features.Gates
	config agent.Config
}

// parse reads the settings and sets up logging. It returns program.ErrAnswered if there is nothing to run.
func parse(args []string) (agent.Config, error) {
	o := newOptions()
	if err := o.Parse(args); err != nil {
		return agent.Config{}, err
	}
	if err := o.check(); err != nil {
		return agent.Config{}, err
	}
	return o.complete()
}

func newOptions() *options {
	o := &options{Flags: program.NewFlags("sunset-node-agent", "NodeAgentConfig"), gates: features.New(agent.Features...)}
	f, c := o.Flags, &o.config
	f.AddGates(o.gates)
	f.AddAudit(&c.AuditRecords)
	f.StringVar(&c.Node, "node-name", os.Getenv("NODE_NAME"), "name of the node; the default is the value of the environment variable NODE_NAME")
	f.StringVar(&c.Endpoint, "runtime-endpoint", "unix:///run/containerd/containerd.sock", "CRI endpoint of the container runtime, in the format of the kubelet's containerRuntimeEndpoint")
	f.StringVar(&c.SandboxImage, "pod-infra-container-image", "", "sandbox (pause) image of Pods, if the container runtime does not report it; the agent never removes this image")
	f.StringVar(&c.StateDir, "state-dir", "/var/lib/sunset-node-agent", "directory in which the agent stores the ages of images across restarts; no other process may use it")
	f.DurationVar(&c.Interval, "interval", images.DefaultInterval, "maximum time between two lists of the images while no image is due; at least "+shortest.String())
	f.IntVar(&c.MaxInFlight, "max-in-flight", 16, "maximum number of images that the agent removes at the same time; it removes fewer while removals slow down the container runtime")
	f.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", `address of the metrics endpoint; "0" disables it`)
	f.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", `address of the health probe endpoints /healthz and /readyz; "0" disables them`)
	return o
}

// shortest is the minimum time between two snapshots of a node.
const shortest = 100 * time.Millisecond

// check returns an error for a setting that is invalid on every node.
func (o *options) check() error {
	return o.Check(
		program.Demand{Setting: "interval", Holds: o.config.Interval >= shortest, Want: "at least " + shortest.String()},
		program.Demand{Setting: "max-in-flight", Holds: o.config.MaxInFlight > 0, Want: "at least 1"},
		program.Audit(o.config.AuditRecords),
		program.Address("metrics-bind-address", o.config.MetricsAddress),
		program.Address("health-probe-bind-address", o.config.ProbeAddress),
	)
}

func (o *options) complete() (agent.Config, error) {
	c := o.config
	c.Clock = clock.RealClock{}
	c.Off = features.Off(o.gates)
	var err error
	if c.Rest, err = o.Connect(); err != nil {
		return c, err
	}
	return c, c.Check()
}
