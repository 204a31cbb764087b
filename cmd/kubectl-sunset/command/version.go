// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// VersionInfo is the result of version in JSON and YAML. The format is stable.
type VersionInfo struct {
	metav1.TypeMeta `json:",inline"`
	Client          ClientVersion      `json:"clientVersion"`
	Controller      *ControllerVersion `json:"controllerVersion,omitempty"` // nil with --client, and if no cluster responds
}

// ClientVersion is the build of kubectl sunset. Unknown values are "devel" or "unknown".
type ClientVersion struct {
	Version  string `json:"version"` // such as v1.2.3
	Commit   string `json:"commit"`
	Date     string `json:"date"` // of the commit
	Go       string `json:"goVersion"`
	TZData   string `json:"tzdataVersion"` // of the tz database for windows and digests
	Platform string `json:"platform"`      // such as linux/amd64
}

// ControllerVersion is the version of the controller according to its Deployment.
type ControllerVersion struct {
	Version string `json:"version"`           // the tag of the image, or "unknown"
	Image   string `json:"image,omitempty"`   // as the Deployment names it
	Message string `json:"message,omitempty"` // why the version is unknown
}

// versionCommand is the command version.
type versionCommand struct {
	streams    genericiooptions.IOStreams
	client     bool
	namespace  string
	output     outputFlags
	connection connection
}

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	v := &versionCommand{streams: streams}
	c := &cobra.Command{
		Use:     "version [--client]",
		Short:   "Print the versions of the command and of the controller",
		Long:    versionHelp,
		Example: versionExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return v.run(c.Context()) },
	}
	c.Flags().BoolVar(&v.client, "client", false, "print only the version of the command, and do not connect to a cluster")
	v.output.add(c)
	v.connection.add(c, &v.namespace, "namespace of the controller; the default is all namespaces")
	return c
}

func (v *versionCommand) run(ctx context.Context) error {
	build := version.Get()
	info := &VersionInfo{
		TypeMeta: preview.TypeMeta("VersionInfo"),
		Client:   ClientVersion{build.Version, build.Commit, build.Date, build.Go, build.TZData, runtime.GOOS + "/" + runtime.GOARCH},
	}
	if !v.client {
		info.Controller = v.controller(ctx)
	}
	return v.output.print(v.streams.Out, info, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, build.Line(program))
		if c := info.Controller; c != nil && err == nil {
			_, err = fmt.Fprintf(w, "sunset-controller %s (%s)\n", c.Version, cmp.Or(c.Message, "image "+c.Image))
		}
		return err
	})
}

// controller returns the version of the controller; nil if no cluster responds.
func (v *versionCommand) controller(ctx context.Context) *ControllerVersion {
	c, err := v.connection.connect()
	if clientcmd.IsEmptyConfig(err) {
		return nil
	}
	var controller *cluster.Controller
	if err == nil {
		controller, err = c.Controller(ctx, v.namespace)
	}
	image := ""
	if controller != nil {
		image = controller.Image
	}
	found := &ControllerVersion{Version: load.ImageTag(image), Image: image}
	var response apierrors.APIStatus
	switch {
	case errors.As(err, &response):
		found.Message = err.Error()
	case err != nil:
		notes{v.streams.ErrOut}.note("the version of the controller is not known: %v", err)
		return nil
	case image == "":
		found.Message = "no Deployment has label " + cluster.ControllerLabel
	case found.Version == "":
		found.Message = "its image has no tag: " + image
	}
	found.Version = cmp.Or(found.Version, "unknown")
	return found
}

const versionHelp = `Print the version of this program, its commit and commit time, the Go version, the version of the tz database for windows,
and the platform. If a cluster is configured and responds, the command also prints the version of the controller: the tag of
the image of the Deployment with label app.kubernetes.io/name=sunset-controller. You need permission to list Deployments in
all namespaces or, with -n, in one. Metric sunset_build_info has the version, commit, Go version and version of the tz
database of each running Pod.

Exit codes: 0 success, also if the version of the controller is unknown; 2 wrong usage.`

const versionExamples = `  # Which versions of the command and the controller are installed?
  kubectl sunset version

  # And without a cluster?
  kubectl sunset version --client

  # The version of the controller, for a program
  kubectl sunset version -o jsonpath='{.controllerVersion.version}'`
