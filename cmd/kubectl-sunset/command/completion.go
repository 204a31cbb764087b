// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
)

// shells lists the supported scripts. The first is for kubectl, in any shell.
var shells = []string{"kubectl", "bash", "zsh", "fish", "powershell"}

func newCompletion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:                   "completion (kubectl|bash|zsh|fish|powershell)",
		Short:                 "Generate a script for shell completion",
		Long:                  completionHelp,
		Example:               completionExamples,
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(streams.Out, true)
			case "zsh":
				return root.GenZshCompletion(streams.Out)
			case "fish":
				return root.GenFishCompletion(streams.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(streams.Out)
			default:
				_, err := fmt.Fprint(streams.Out, forKubectl)
				return err
			}
		},
	}
}

// forKubectl is the script kubectl_complete-sunset in PATH. kubectl runs it to complete "kubectl sunset". See
// https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/.
const forKubectl = `#!/usr/bin/env sh
# kubectl runs this to complete "kubectl sunset"; install it in PATH as kubectl_complete-sunset.
exec kubectl sunset __complete "$@"
`

// completionPatience is the timeout for requests to a cluster during completion.
const completionPatience = 3 * time.Second

// completePolicies completes the name of one policy: of the given namespace, or otherwise of the cluster.
func completePolicies(connection *connection) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, connection, func(ctx context.Context, in *cluster.Cluster) ([]string, error) {
			return in.ObjectNames(ctx, cluster.PolicyKind(*connection.Namespace), *connection.Namespace, "")
		})
	}
}

// completeNames completes a flag of a command with the names of objects, if the command has the flag.
func completeNames(c *cobra.Command, connection *connection, flag string, directive cobra.ShellCompDirective, kind cluster.Kind) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found, _ := complete(c, connection, func(ctx context.Context, in *cluster.Cluster) ([]string, error) {
			return in.ObjectNames(ctx, kind, "", "")
		})
		return found, directive
	})
}

// complete requests names from the cluster. If that fails, it completes nothing and prints no error.
func complete(c *cobra.Command, connection *connection, ask func(context.Context, *cluster.Cluster) ([]string, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completionPatience)
	defer cancel()
	*connection.Timeout = completionPatience.String() // for requests without a context
	in, err := connection.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := ask(ctx, in)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeKinds completes names of kinds that are not in the arguments yet.
func completeKinds(connection *connection) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return complete(c, connection, func(_ context.Context, in *cluster.Cluster) ([]string, error) {
			names, err := in.KindNames()
			return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), err
		})
	}
}

// completeObject completes KIND/NAME: first the kind, and then the name, in the given namespace or otherwise that of the
// kubeconfig.
func completeObject(connection *connection) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind, _, named := strings.Cut(typed, "/")
		if named {
			return complete(c, connection, func(ctx context.Context, in *cluster.Cluster) ([]string, error) {
				return objectsOf(ctx, in, connection, kind)
			})
		}
		kinds, directive := complete(c, connection, func(_ context.Context, in *cluster.Cluster) ([]string, error) { return in.KindNames() })
		for i := range kinds {
			kinds[i] += "/"
		}
		return kinds, directive | cobra.ShellCompDirectiveNoSpace
	}
}

// objectsOf returns the objects of a kind as name/OBJECT.
func objectsOf(ctx context.Context, in *cluster.Cluster, connection *connection, name string) ([]string, error) {
	kind, err := in.Kind(name)
	if err != nil {
		return nil, err
	}
	namespace, _, err := connection.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	names, err := in.ObjectNames(ctx, kind, namespace, "")
	for i := range names {
		names[i] = name + "/" + names[i]
	}
	return names, err
}

// completeContexts completes contexts, clusters and users of the kubeconfig.
func completeContexts(c *cobra.Command, connection *connection) {
	for flag, names := range map[string]func(clientcmdapi.Config) []string{
		"context": func(k clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(k.Contexts)) },
		"cluster": func(k clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(k.Clusters)) },
		"user":    func(k clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(k.AuthInfos)) },
	} {
		_ = c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			kubeconfig, _ := connection.ToRawKubeConfigLoader().RawConfig()
			return names(kubeconfig), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

const completionHelp = `Generate a script for shell completion of commands and flags and, if there is a cluster, of the names of kinds, objects,
policies, namespaces and nodes.

To complete "kubectl sunset", kubectl runs kubectl_complete-sunset, which "completion kubectl" generates. This works in
every shell with completion for kubectl. The other scripts are for the program under its own name, kubectl-sunset.` + exitCodesHelp

const completionExamples = `  # Complete "kubectl sunset", in a shell where kubectl completes
  kubectl sunset completion kubectl > ~/bin/kubectl_complete-sunset && chmod +x ~/bin/kubectl_complete-sunset

  # Complete "kubectl-sunset" in this bash session, and in all future ones
  source <(kubectl-sunset completion bash)
  echo 'source <(kubectl-sunset completion bash)' >> ~/.bashrc

  # In zsh, fish and PowerShell
  kubectl-sunset completion zsh > "${fpath[1]}/_kubectl-sunset"
  kubectl-sunset completion fish > ~/.config/fish/completions/kubectl-sunset.fish
  kubectl-sunset completion powershell | Out-String | Invoke-Expression`
