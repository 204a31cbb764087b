package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/controllers/version"
)

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Long:    versionHelp,
		Example: versionExamples,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, version.Get().Line(program))
			return err
		},
	}
}

const versionHelp = `Say which version this is, from which commit and of which time, and by which Go for which machine it was built. No
cluster is asked; what the controller is says sunset_build_info, and sunset-controller --version.` + fineOrTrouble

const versionExamples = `  # Which version is this?
  kubectl sunset version`
