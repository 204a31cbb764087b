package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers/agent"
	"github.com/sunset-k8s/sunset/controllers/images"
)

// options are the flags as given.
type options struct {
	kubeconfig string
	config     agent.Config
	log        zap.Options
}

// parse reads the flags and sets up logging. pflag.ErrHelp says that help was asked for and given.
func parse(args []string) (agent.Config, error) {
	o := options{}
	if err := program.Parse(o.flags(), args, &o.log); err != nil {
		return agent.Config{}, err
	}
	return o.complete()
}

func (o *options) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("sunset-node-agent", pflag.ContinueOnError)
	c := &o.config
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; without one the service account of the Pod is used")
	f.StringVar(&c.Node, "node-name", os.Getenv("NODE_NAME"), "name of the node, by default what NODE_NAME says")
	f.StringVar(&c.Endpoint, "runtime-endpoint", "unix:///run/containerd/containerd.sock", "socket of the container runtime, as the kubelet names it")
	f.StringVar(&c.SandboxImage, "pod-infra-container-image", "", "image of every Pod's sandbox, where the runtime does not tell; it is never removed")
	f.StringVar(&c.StateDir, "state-dir", "/var/lib/sunset-node-agent", "where the ages of images are kept across restarts; of this agent alone")
	f.DurationVar(&c.Interval, "interval", images.DefaultInterval, "how often the images are listed when none is due")
	f.IntVar(&c.MaxInFlight, "max-in-flight", 16, "images removed together at most; fewer while that keeps the runtime from other things")
	f.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", `where metrics are served; "0" for nowhere`)
	f.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", `where /healthz and /readyz are served; "0" for nowhere`)
	program.AddLogFlags(f, &o.log)
	return f
}

func (o *options) complete() (agent.Config, error) {
	c := o.config
	c.Clock = clock.RealClock{}
	var err error
	if c.Rest, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig); err != nil {
		return c, fmt.Errorf("no API server: %w", err)
	}
	c.Rest.UserAgent = "sunset-node-agent"
	return c, c.Check()
}
