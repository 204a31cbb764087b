package command

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Version is set when a release is built: -ldflags "-X github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command.Version=v1.2.3".
var Version string

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "kubectl-sunset", version())
			return err
		},
	}
}

// version is the one set at build time, or what Go recorded about the build.
func version() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && text == "(devel)" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}
