// SPDX-License-Identifier: Apache-2.0

// Command sunset-controller runs Sunset in a cluster. It evaluates retention policies and deletes the objects that are due.
package main

import (
	"context"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers/manager"
)

func main() {
	program.Main("sunset-controller", func(args []string) (func(context.Context) error, error) {
		config, err := parse(args)
		return func(ctx context.Context) error { return manager.Run(ctx, config) }, err
	})
}
