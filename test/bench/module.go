// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"path/filepath"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moduleRoot is the directory of this module's sources.
func moduleRoot() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("the sources of this module are not available")
	}
	return filepath.Join(filepath.Dir(file), "..", ".."), nil
}

func objectMeta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
