// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/policy/audit"
)

// archiveRestore is the command archive restore.
type archiveRestore struct {
	*archiveCommand
	yes, diff bool
	options   restore.Options

	created     map[types.UID]types.UID   // by the UIDs of the archived objects
	namespaces  map[string]bool           // that were created
	definitions map[schema.GroupKind]bool // kinds whose CustomResourceDefinitions were created
}

// A new CustomResourceDefinition is served after a few seconds.
const (
	servedWithin = 30 * time.Second
	servedPause  = 300 * time.Millisecond // between two attempts
)

func newArchiveRestore(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	r := &archiveRestore{archiveCommand: newArchiveCommand(streams, now), options: restore.Options{BuiltIn: cluster.IsBuiltIn}}
	r.selection.Whole, r.created, r.namespaces, r.definitions = true, map[types.UID]types.UID{}, map[string]bool{}, map[schema.GroupKind]bool{}
	c := &cobra.Command{
		Use:     "restore [KIND[/NAME] | KIND NAME]... [--yes]",
		Short:   "Create archived objects again",
		Long:    archiveRestoreHelp,
		Example: archiveRestoreExamples,
	}
	flags := c.Flags()
	flags.BoolVarP(&r.yes, "yes", "y", false, "create the objects; without it, the command only shows what it would create")
	flags.BoolVar(&r.diff, "diff", false, "show how the objects to create differ from the archived ones")
	flags.BoolVar(&r.options.Redacted, "redacted", false, "restore objects although values were redacted and are not in the archive")
	flags.BoolVar(&r.options.Finished, "finished", false, "restore custom resources that ran to completion, although their controllers may run them again")
	return r.complete(c, r.run)
}

func (r *archiveRestore) run(ctx context.Context, from *openArchive) error {
	c, err := r.connection.connect()
	if err != nil {
		return err
	}
	var records []restore.Record
	if err := r.read(ctx, from, func(c archive.Content) error {
		found, err := c.ToRestore(from.Name)
		records = append(records, found...)
		return err
	}); err != nil {
		return err
	}
	uids := map[audit.Object]types.UID{}
	steps := restore.Plan(records, func(name audit.Object) types.UID {
		if _, known := uids[name]; !known {
			object, failure := c.Live(ctx, name)
			if failure != nil && !apierrors.IsForbidden(failure) {
				err = fmt.Errorf("find out whether %s exists: %w", name, failure)
			}
			uids[name] = object.GetUID()
		}
		return uids[name]
	}, r.options)
	if err != nil {
		return err
	}
	if err := r.carryOut(ctx, c, steps); err != nil {
		return err
	}
	return r.print(steps)
}

// carryOut carries out the steps one after the other; without --yes, the API server only checks the objects. If an object cannot be
// created, it continues with the others.
func (r *archiveRestore) carryOut(ctx context.Context, c *cluster.Cluster, steps []*restore.Step) error {
	progress := terminal.StartProgress(r.streams.ErrOut, "objects checked or restored")
	defer progress.Stop()
	for i, s := range steps {
		if s.Object == nil {
			continue
		}
		uid, err := r.create(ctx, c, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.Refuse(err.Error())
			continue
		}
		r.created[s.Archived.GetUID()] = uid
		r.namespaces[s.Name.Name] = r.namespaces[s.Name.Name] || s.Name.Kind == "Namespace"
		r.definitions[s.Defines()] = true
		progress.Set(i + 1)
	}
	return nil
}

// create creates one object with its status, and returns its UID. The API server checks it first.
func (r *archiveRestore) create(ctx context.Context, c *cluster.Cluster, s *restore.Step) (types.UID, error) {
	object, err := s.Linked(r.created)
	if err != nil {
		return "", err
	}
	kind, answer, err := r.check(ctx, c, object)
	if err == nil {
		err = s.Confirm(answer)
	}
	if err == nil && r.yes {
		answer.Object, err = c.Create(ctx, kind, object.Object, false)
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return "", errors.New("an object of this name exists, and restore never replaces an object; delete or rename that one first")
	case !r.yes && apierrors.IsNotFound(err) && r.namespaces[object.GetNamespace()],
		!r.yes && isUnserved(err) && r.definitions[object.GroupVersionKind().GroupKind()]:
		return s.Archived.GetUID(), nil // the API server can check it only when the namespace and the kind exist
	case err != nil:
		return "", err
	case !r.yes:
		return answer.GetUID(), nil
	}
	s.Object = answer
	if s.Status != nil {
		if err := c.SetStatus(ctx, kind, answer, s.Status); err != nil {
			s.Notes = append(s.Notes, fmt.Sprintf("its status was not written: %v", err))
		}
	}
	return answer.GetUID(), nil
}

// check has the API server check an object. If the CustomResourceDefinition of its kind was created before, it waits until the API
// server serves the kind.
func (r *archiveRestore) check(ctx context.Context, c *cluster.Cluster, object *unstructured.Unstructured) (kind cluster.Kind, answer *unstructured.Unstructured, err error) {
	of, end := object.GroupVersionKind(), time.Now().Add(servedWithin)
	answer = &unstructured.Unstructured{}
	for {
		if kind, err = c.Serving(of); err == nil {
			answer.Object, err = c.Create(ctx, kind, object.Object, true)
		}
		isNew := r.yes && r.definitions[of.GroupKind()]
		if !isNew || !isUnserved(err) || time.Now().After(end) {
			if r.yes {
				delete(r.definitions, of.GroupKind())
			}
			return kind, answer, err
		}
		select {
		case <-ctx.Done():
			return kind, answer, ctx.Err()
		case <-time.After(servedPause):
			c.Rediscover()
		}
	}
}

// isUnserved reports whether an error may say that the API server does not serve the kind of an object.
func isUnserved(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// print prints the plan or, with --yes, what was created. Differences follow the text.
func (r *archiveRestore) print(steps []*restore.Step) error {
	if err := restore.Write(r.streams.Out, steps, r.yes); err != nil {
		return err
	}
	isWhole := true
	for _, s := range steps {
		isWhole = isWhole && s.Object != nil
		if !r.diff || s.Object == nil {
			continue
		}
		if _, err := writeDifference(r.streams.Out, "restored", s.Archived, s.Object); err != nil {
			return err
		}
	}
	if !isWhole {
		return errFindings
	}
	return nil
}
