// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
)

// archiveDiff is the command archive diff.
type archiveDiff struct{ *archiveCommand }

func newArchiveDiff(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	d := &archiveDiff{newArchiveCommand(streams, now)}
	c := &cobra.Command{
		Use:     "diff (KIND[/NAME] | KIND NAME)... [-n NAMESPACE] [--archive NAME | --url URL]",
		Short:   "Compare archived objects with those of the cluster",
		Long:    archiveDiffHelp,
		Example: archiveDiffExamples,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return explainArchive(d.run(c.Context(), args)) },
	}
	d.addSelection(c)
	d.addConnection(c)
	return c
}

func (d *archiveDiff) run(ctx context.Context, args []string) error {
	c, err := d.connection.connect()
	if err != nil {
		return err
	}
	from, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	found, err := d.find(ctx, from, args)
	if err != nil {
		return err
	}
	if len(found.Records) == 0 {
		d.noRecords(from)
		return errFindings
	}
	compared, err := newComparison()
	if err != nil {
		return err
	}
	defer compared.remove()
	seen := map[string]bool{}
	entries := found.Records[:0:0]
	for _, e := range found.Records { // the newest record of each object
		kind, name := e.Kind()
		if key := kind.String() + "/" + e.Namespace + "/" + name; !seen[key] {
			seen[key] = true
			entries = append(entries, e)
		}
	}
	err = d.read(ctx, from, entries, func(content archive.Content) error {
		object, err := content.Manifest()
		if err != nil {
			return err
		}
		live, err := liveObject(ctx, c, object)
		if err != nil {
			return err
		}
		return compared.add(object, live)
	})
	if err != nil {
		return err
	}
	return compared.run(ctx, d.streams)
}

// liveObject gets the object of the cluster that has the name of an archived one; nil if there is none. Of Secrets it gets only
// metadata, and then removes the rest of the archived one.
func liveObject(ctx context.Context, c *cluster.Cluster, archived map[string]any) (map[string]any, error) {
	o := &unstructured.Unstructured{Object: archived}
	kind, _, served, err := c.Serving(o.GroupVersionKind())
	if err != nil || !served {
		return nil, err
	}
	live, err := c.Get(ctx, kind, o.GetNamespace(), o.GetName())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && o.GetKind() == "Secret" && o.GetAPIVersion() == "v1" {
		for field := range archived {
			if _, ok := live[field]; !ok {
				delete(archived, field)
			}
		}
	}
	return live, err
}

// comparison compares objects with a program, as kubectl diff does: the files of one directory with those of another.
type comparison struct{ dir string }

func newComparison() (*comparison, error) {
	dir, err := os.MkdirTemp("", "kubectl-sunset-")
	if err != nil {
		return nil, err
	}
	c := &comparison{dir}
	for _, side := range []string{"ARCHIVED", "LIVE"} {
		if err := os.Mkdir(filepath.Join(dir, side), 0o700); err != nil {
			c.remove()
			return nil, err
		}
	}
	return c, nil
}

func (c *comparison) remove() { _ = os.RemoveAll(c.dir) }

// add adds an archived object, and the one to compare it with; nil for none.
func (c *comparison) add(archived, live map[string]any) error {
	o := &unstructured.Unstructured{Object: archived}
	kind := o.GroupVersionKind()
	name := strings.Join([]string{kind.Group, kind.Version, kind.Kind, o.GetNamespace(), o.GetName()}, ".")
	for side, object := range map[string]map[string]any{"ARCHIVED": archived, "LIVE": live} {
		if object == nil {
			continue
		}
		unstructured.RemoveNestedField(object, "metadata", "managedFields")
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(c.dir, side, strings.ReplaceAll(name, "/", "_")), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// run runs diff, or the program that KUBECTL_EXTERNAL_DIFF names. It returns errFindings if there is a difference.
func (c *comparison) run(ctx context.Context, streams genericiooptions.IOStreams) error {
	program := []string{"diff", "-u", "-N"}
	if named := strings.Fields(os.Getenv("KUBECTL_EXTERNAL_DIFF")); len(named) > 0 {
		program = named
	}
	run := exec.CommandContext(ctx, program[0], append(program[1:], "ARCHIVED", "LIVE")...)
	run.Dir, run.Stdout, run.Stderr = c.dir, streams.Out, streams.ErrOut
	var ended *exec.ExitError
	switch err := run.Run(); {
	case errors.As(err, &ended) && ended.ExitCode() == 1:
		return errFindings
	case err != nil:
		return fmt.Errorf("run %s: %w; KUBECTL_EXTERNAL_DIFF can name another program", strings.Join(program, " "), err)
	}
	return nil
}
