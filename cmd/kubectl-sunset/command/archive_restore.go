// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy/audit"
)

// archiveRestore is the command archive restore.
type archiveRestore struct {
	*archiveCommand
	restorer
	options restore.Options
}

func newArchiveRestore(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	r := &archiveRestore{archiveCommand: newArchiveCommand(streams, now), restorer: newRestorer(streams), options: restore.Options{BuiltIn: cluster.IsBuiltIn}}
	r.selection.Restore = true
	c := &cobra.Command{
		Use:     "restore [KIND[/NAME] | KIND NAME]... [--yes]",
		Short:   "Create archived objects again",
		Long:    archiveRestoreHelp,
		Example: archiveRestoreExamples,
	}
	flags := c.Flags()
	r.add(flags)
	flags.BoolVar(&r.options.Redacted, "redacted", false, "restore objects although values were redacted and are not in the archive")
	flags.BoolVar(&r.options.Finished, "finished", false, "restore custom resources that ran to completion, although their controllers may run them again")
	flags.BoolVar(&r.options.Finalizers, "finalizers", false, "restore finalizers too, although an object is never deleted if no controller removes them")
	c.Args = func(_ *cobra.Command, args []string) error { return r.requireSelection(args) }
	return r.complete(c, r.run)
}

// requireSelection returns an error if the command would restore all of the namespace of the kubeconfig, or of the archive at a URL,
// which may be that of another cluster, although the user did not ask for that.
func (r *archiveRestore) requireSelection(args []string) error {
	isSelected := len(args) > 0 || r.allNamespaces || !r.since.time.IsZero() || !r.until.time.IsZero() ||
		r.namespace != "" || r.labels != "" || r.selection.Policy != "" || r.selection.UID != "" || r.condition != ""
	if !isSelected {
		return errors.New("choose what to restore: objects such as job/report, -l, --policy, --uid, --cel, --since or --until; -n restores a whole namespace, and -A the whole archive")
	}
	return nil
}

// run restores the selected objects, and says which records it leaves out.
func (r *archiveRestore) run(ctx context.Context, from *openArchive) error {
	err := r.restoreEntries(ctx, from)
	if n := len(from.leftOut); n > 0 {
		_, writeErr := fmt.Fprintf(r.streams.Out, "%s left out, since it is not known that Sunset deleted the object, or the one that had its name later (%s). To list: kubectl sunset archive ls; to restore one, name it, such as job/report.\n",
			preview.Count(n, "record"), results(from.leftOut))
		err = cmp.Or(err, writeErr)
	}
	return err
}

// results returns the number of entries with each result, such as "2 absent, 1 none".
func results(entries []archive.Entry) string {
	n := map[string]int{}
	for _, e := range entries {
		n[e.Result]++
	}
	var all []string
	for _, result := range slices.Sorted(maps.Keys(n)) {
		all = append(all, fmt.Sprintf("%d %s", n[result], result))
	}
	return strings.Join(all, ", ")
}

func (r *archiveRestore) restoreEntries(ctx context.Context, from *openArchive) error {
	c, err := r.connection.connect()
	if err != nil {
		return err
	}
	r.warnPlain(from.entries)
	var records []restore.Record
	unread := archive.NewUnread(from.entries)
	if err := r.read(ctx, from, func(c archive.Content) error {
		found, err := c.ToRestore(from.Name, r.selection.Namespace)
		if err != nil {
			from.unread.add(c.Place(), err)
		} else {
			unread.Remove(c.Entry)
		}
		records = append(records, found...)
		return nil
	}); err != nil {
		return err
	}
	r.options.Unread = unread.Newest()
	known := map[audit.Object]*unstructured.Unstructured{}
	steps := restore.Plan(records, func(name audit.Object) *unstructured.Unstructured {
		if known[name] == nil {
			object, failure := c.Live(ctx, name)
			if failure != nil && !apierrors.IsForbidden(failure) {
				err = fmt.Errorf("find out whether %s exists: %w", name, failure)
			}
			if object.GetDeletionTimestamp() != nil {
				object = &unstructured.Unstructured{}
			}
			known[name] = object
		}
		return known[name]
	}, r.options)
	if err != nil {
		return err
	}
	return r.restore(ctx, c, steps)
}

// warnPlain warns about records that are not encrypted, although the user decrypts the archive.
func (r *archiveRestore) warnPlain(entries []archive.Entry) {
	n := 0
	for _, e := range entries {
		if !e.IsEncrypted() {
			n++
		}
	}
	if r.identity != "" && n > 0 {
		notes{r.streams.ErrOut}.note("records that are not encrypted: %d of %d. They are older than the encryption of the archive, or another client wrote them. Check these objects before you use --yes",
			n, len(entries))
	}
}
