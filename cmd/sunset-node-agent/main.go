// SPDX-License-Identifier: Apache-2.0

// Command sunset-node-agent removes container images from its node according to ClusterRetentionPolicies.
package main

import (
	"context"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers/node/agent"
)

func main() {
	program.Main("sunset-node-agent", func(args []string) (func(context.Context) error, error) {
		config, err := parse(args)
		return func(ctx context.Context) error { return agent.Run(ctx, config) }, err
	})
}
