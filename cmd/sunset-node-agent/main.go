// Command sunset-node-agent removes images from the node it runs on, as ClusterRetentionPolicies say.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sunset-k8s/sunset/controllers/agent"
)

// gcPercent trades processor time, of which little is used, for memory. GOGC overrides it.
const gcPercent = 20

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	config, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "sunset-node-agent:", err)
		os.Exit(2)
	}
	if err := agent.Run(ctrl.SetupSignalHandler(), config); err != nil {
		ctrl.Log.Error(err, "stopped")
		os.Exit(1)
	}
}
