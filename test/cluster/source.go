// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const moduleLine = "module github.com/sunset-k8s/sunset\n"

// source returns the directory of the module.
func (h home) source() (string, error) {
	dir, err := sourceDir()
	return filepath.Join(dir, h.dir), err
}

// sourceDir finds test/controlplane: beside this source file or, if the binary was built with -trimpath, in the checkout
// around the working directory.
func sourceDir() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		dir := filepath.Join(filepath.Dir(file), "..", "controlplane")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte(moduleLine)) {
			return filepath.Join(dir, "test", "controlplane"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("test/controlplane not found: run inside a checkout of sunset")
		}
	}
}

// requiredVersion returns the version of module in the text of a go.mod.
func requiredVersion(mod []byte, module string) (string, error) {
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", module)
}
