// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// connection holds kubectl's flags for the connection to a cluster.
type connection struct {
	*genericclioptions.ConfigFlags
	flags    *pflag.FlagSet      // of the command
	warnings rest.WarningHandler // of the API server; nil means to print them
}

// add adds the flags and the completion of their values. The command must have its other flags already. Flag -n sets namespace,
// which stays empty without the flag, because most commands do not use the namespace of the kubeconfig. If namespace is nil,
// there is no -n.
func (f *connection) add(c *cobra.Command, namespace *string, help string) {
	const discoveryQPS = 50 // as kubectl
	f.ConfigFlags = genericclioptions.NewConfigFlags(true).WithDiscoveryQPS(discoveryQPS).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent, config.WarningHandler = version.Get().UserAgent(program), f.warnings
		return config
	})
	f.Namespace, f.flags = namespace, c.Flags()
	f.AddFlags(c.Flags())
	if namespace != nil {
		c.Flag("namespace").Usage = help
	}
	completeContexts(c, f)
	completeNames(c, f, "namespace", cobra.ShellCompDirectiveNoFileComp, cluster.NamespaceKind)
	completeNames(c, f, "node", cobra.ShellCompDirectiveDefault, cluster.NodeKind) // the flag may name a file too
}

// connect returns the cluster of the flags. It sends no requests. If no cluster is configured, it returns an error; kubectl would
// try localhost instead.
func (f *connection) connect() (*cluster.Cluster, error) {
	kubeconfig, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, err
	}
	if _, err := rest.InClusterConfig(); err != nil && clientcmdapi.IsConfigEmpty(&kubeconfig) && *f.APIServer == "" {
		return nil, genericclioptions.ErrEmptyConfig
	}
	return cluster.Connect(f)
}

// checkClusterFlags returns an error if the files have objects, so that the command does not read the cluster, although a flag says which
// cluster to read.
func (f *connection) checkClusterFlags(in *load.Contents) error {
	for _, name := range []string{"kubeconfig", "context", "cluster", "server", "user", "token", "as"} {
		if in.Others > 0 && f.flags.Changed(name) {
			return fmt.Errorf("the files contain objects besides policies, so the command does not read the cluster that --%s names; to read the cluster, name only files with policies; to evaluate the files, omit --%s", name, name)
		}
	}
	return nil
}

// addLogFlags adds -v and --vmodule, as kubectl does: -v=6 logs the requests to the API server.
func addLogFlags(flags *pflag.FlagSet) {
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	for _, name := range []string{"v", "vmodule"} {
		flags.AddGoFlag(all.Lookup(name))
	}
}
