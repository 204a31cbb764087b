package command

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
)

// nodeFlags name the node that images are on: by a file with the Node, or by its name in the cluster.
type nodeFlags struct {
	node   string
	agents string
}

func (f *nodeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.node, "node", "", "node of the images: the name of a node, whose agent the command asks; or, for images in files, a file with the Node object")
	flags.StringVar(&f.agents, "agent-namespace", "sunset-system", "namespace of the node agents; if empty, search all namespaces")
}

// isLive reports whether a node of the cluster is meant, as there is no such file.
func (f *nodeFlags) isLive() bool {
	if f.node == "" {
		return false
	}
	_, err := os.Stat(f.node)
	return os.IsNotExist(err)
}

// names adds the file of the node to those to read.
func (f *nodeFlags) names(files []string) []string {
	if f.node == "" || f.isLive() {
		return files
	}
	return append(files[:len(files):len(files)], f.node)
}

// errNoFile is the error where objects are in files, and so no cluster is asked.
func (f *nodeFlags) errNoFile() error {
	return fmt.Errorf("file %s does not exist; with objects in files, --node must name a file with the Node object", f.node)
}

// staleAfter is how long ago an agent has not looked that looks.
const staleAfter = 5 * time.Minute

// readImages asks the agent on the node what it saw last, and says so if that was long ago.
func (f *nodeFlags) readImages(ctx context.Context, c *cluster.Cluster, now time.Time, say notes) (*debug.Handler, error) {
	seen, err := c.NodeImages(ctx, f.node, f.agents)
	if err != nil {
		return nil, err
	}
	if ago := now.Sub(seen.Taken); ago > staleAfter {
		say.note("the agent on node %s last listed its images %s ago", f.node, duration.HumanDuration(ago))
	}
	return seen, nil
}
