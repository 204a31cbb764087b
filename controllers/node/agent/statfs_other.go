// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package agent

import (
	"errors"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func statfs(string) (v1alpha1.NodeImageFilesystem, error) {
	return v1alpha1.NodeImageFilesystem{}, errors.ErrUnsupported
}
