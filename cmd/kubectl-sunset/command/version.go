package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/controllers/process/version"
)

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    versionHelp,
		Example: versionExamples,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, version.Get().Line(program))
			return err
		},
	}
}

const versionHelp = `Print the version of this program, its commit and commit time, the Go version and the platform. The command does not
connect to a cluster; for the version of the controller, see metric sunset_build_info or sunset-controller --version.` + exitCodesHelp

const versionExamples = `  # Which version of the command is installed?
  kubectl sunset version`
