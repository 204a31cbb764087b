// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"strconv"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Version identifies the runtime.
type Version struct {
	Name    string // such as "containerd" or "cri-o"
	Version string // such as "v2.4.2" or "1.6.20~ds1"
}

// Version returns the name and version of the runtime. The name is not empty.
func (r *Runtime) Version(ctx context.Context) (Version, error) {
	const call = "Version"
	answer, err := ask(ctx, r, askTimeout, call, r.runtime.Version, &runtimeapi.VersionRequest{})
	if err != nil {
		return Version{}, err
	}
	v := Version{Name: answer.GetRuntimeName(), Version: answer.GetRuntimeVersion()}
	if v.Name == "" {
		return Version{}, badAnswer(call, "the runtime has no name")
	}
	return v, nil
}

// pinsSandboxImage reports whether the runtime is known to list its sandbox image as pinned. containerd does so since 2.0, in
// which its status no longer has the name of that image. In earlier versions the status has it.
func (v Version) pinsSandboxImage() bool {
	major, _, _ := strings.Cut(strings.TrimPrefix(v.Version, "v"), ".")
	number, err := strconv.Atoi(major)
	return err == nil && v.Name == "containerd" && number >= 2
}
