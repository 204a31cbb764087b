// Command sunset-controller runs Sunset in a cluster: it reads ClusterRetentionPolicies and deletes what they say.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sunset-k8s/sunset/controllers"
)

// gcPercent trades processor time, of which little is used, for memory: the heap grows by a fifth of what is kept before
// garbage is collected. GOGC overrides it.
const gcPercent = 20

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	config, err := parse(os.Args[1:])
	switch {
	case helpAsked(err):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "sunset-controller:", err)
		os.Exit(2)
	}
	if err := controllers.Run(ctrl.SetupSignalHandler(), config); err != nil {
		ctrl.Log.Error(err, "stopped")
		os.Exit(1)
	}
}
