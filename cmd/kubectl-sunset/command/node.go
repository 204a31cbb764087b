// SPDX-License-Identifier: Apache-2.0

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

// nodeFlags name the node of images: a file with the Node object, or a node of the cluster.
type nodeFlags struct {
	node   string
	agents string
}

func (f *nodeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.node, "node", "", "node of the images: the name of a node, whose agent the command asks; or, for images in files, a file with the Node object")
	flags.StringVar(&f.agents, "agent-namespace", "sunset-system", "namespace of the node agents; if empty, search all namespaces")
}

// isLive reports whether --node names a node of the cluster, because no file has that name.
func (f *nodeFlags) isLive() bool {
	if f.node == "" {
		return false
	}
	_, err := os.Stat(f.node)
	return os.IsNotExist(err)
}

// names adds the file of the node to the files to read.
func (f *nodeFlags) names(files []string) []string {
	if f.node == "" || f.isLive() {
		return files
	}
	return append(files[:len(files):len(files)], f.node)
}

// errNoFile is the error if --node names a node of the cluster although the objects are in files.
func (f *nodeFlags) errNoFile() error {
	return fmt.Errorf("file %s does not exist; with objects in files, --node must name a file with the Node object", f.node)
}

// staleAfter is the age of an agent's list from which the command writes a note.
const staleAfter = 5 * time.Minute

// readImages gets the agent's last list of images. If the list is old, it writes a note.
func (f *nodeFlags) readImages(ctx context.Context, c *cluster.Cluster, now time.Time, say notes) (*debug.NodeImages, error) {
	seen, err := c.NodeImages(ctx, f.node, f.agents)
	if err != nil {
		return nil, err
	}
	if ago := now.Sub(seen.Taken); ago > staleAfter {
		say.note("the agent on node %s last listed its images %s ago", f.node, duration.HumanDuration(ago))
	}
	return seen, nil
}
