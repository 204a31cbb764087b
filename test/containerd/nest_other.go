// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package containerd

import (
	"context"
	"fmt"
)

type nest struct{}

func newNest(context.Context, string, string) (*nest, error) {
	return nil, fmt.Errorf("%w: it does not run Linux", ErrMachine)
}

func (n *nest) spawn(start func() error) error { return start() }

func (n *nest) end() {}
