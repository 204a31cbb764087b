// SPDX-License-Identifier: Apache-2.0

// Command kubectl-sunset is a kubectl plugin, used as "kubectl sunset". It checks retention policies, shows what they would
// delete, when and why, tests them, approves changes, and removes the marks that Sunset leaves on objects.
package main

import (
	"context"
	"os"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

func main() {
	rest.SetDefaultWarningHandler(rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true})) // as kubectl does
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(command.Run(context.Background(), os.Args[1:], streams, time.Now()))
}
