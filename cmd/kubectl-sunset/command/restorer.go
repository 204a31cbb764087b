// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
)

// restorer carries out the steps of a plan, for the commands that restore objects.
type restorer struct {
	out       genericiooptions.IOStreams
	yes, diff bool

	created     map[types.UID]types.UID   // by the UIDs of the archived objects
	namespaces  map[string]bool           // that were created
	definitions map[schema.GroupKind]bool // kinds whose CustomResourceDefinitions were created
}

// A new CustomResourceDefinition is served after a few seconds.
const (
	servedWithin = 30 * time.Second
	servedPause  = 300 * time.Millisecond // between two attempts
)

func newRestorer(streams genericiooptions.IOStreams) restorer {
	return restorer{out: streams, created: map[types.UID]types.UID{}, namespaces: map[string]bool{}, definitions: map[schema.GroupKind]bool{}}
}

// add adds the flags.
func (r *restorer) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&r.yes, "yes", "y", false, "create the objects; without it, the command only shows what it would create")
	flags.BoolVar(&r.diff, "diff", false, "show how the objects to create differ from the archived ones")
}

// restore carries out the steps and prints what it did. A user who interrupts it learns this too, with errInterrupted.
func (r *restorer) restore(ctx context.Context, c *cluster.Cluster, steps []*restore.Step) error {
	if r.yes {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
	}
	r.carryOut(ctx, c, steps)
	err := r.print(steps)
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// carryOut carries out the steps one after the other; without --yes, the API server only checks the objects. If an object cannot be
// created, it continues with the others. After an interrupt, it creates no more.
func (r *restorer) carryOut(ctx context.Context, c *cluster.Cluster, steps []*restore.Step) {
	progress := terminal.StartProgress(r.out.ErrOut, "objects checked or restored")
	defer progress.Stop()
	for i, s := range steps {
		if s.Object == nil {
			continue
		}
		uid, err := r.create(ctx, c, s)
		if err != nil && ctx.Err() == nil {
			uid, err = r.existing(ctx, c, s, err)
		}
		if err != nil && ctx.Err() != nil {
			err = errInterrupted
		}
		if err != nil {
			s.Refuse(err.Error())
			continue
		}
		r.created[s.Archived.GetUID()] = uid
		if s.Name.GroupKind() == cluster.NamespaceKind.GroupKind() && !s.Before {
			r.namespaces[s.Name.Name] = true
		}
		if kind := s.Defines(); !kind.Empty() {
			r.definitions[kind] = true
		}
		progress.Set(i + 1)
	}
}

// create creates one object with its status, and returns its UID. The API server checks it first. An interrupt does not end the requests
// that create the object, so that it is known whether the object exists.
func (r *restorer) create(ctx context.Context, c *cluster.Cluster, s *restore.Step) (types.UID, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	object, err := s.Linked(r.created)
	if err != nil {
		return "", err
	}
	kind, answer, err := r.check(ctx, c, object)
	if err == nil {
		err = s.Confirm(answer)
	}
	ctx = context.WithoutCancel(ctx)
	if err == nil && r.yes {
		answer.Object, err = c.Create(ctx, kind, object.Object, false)
	}
	switch {
	case !r.yes && apierrors.IsNotFound(err) && r.namespaces[object.GetNamespace()],
		!r.yes && isUnserved(err) && r.definitions[object.GroupVersionKind().GroupKind()]:
		return s.Archived.GetUID(), nil // the API server can check it only when the namespace and the kind exist
	case err != nil:
		return "", err
	case !r.yes:
		return answer.GetUID(), nil
	}
	if err := s.Confirm(answer); err != nil { // a webhook can answer otherwise than to the check
		s.Failed = true
		s.Notes = append(s.Notes, fmt.Sprintf("it was created, but may run again: %v", err))
	}
	s.Object = answer
	r.setStatus(ctx, c, s, answer)
	return answer.GetUID(), nil
}

// otherStatus is a note about an object that was created.
const otherStatus = "its status is not that of the record: a controller has changed it, or the earlier restore could not write it"

// setStatus writes the status of an object that was created, unless a controller writes one first.
func (r *restorer) setStatus(ctx context.Context, c *cluster.Cluster, s *restore.Step, object *unstructured.Unstructured) {
	if s.Status == nil {
		return
	}
	kind, err := c.Serving(object.GroupVersionKind())
	if err == nil {
		err = c.SetStatus(ctx, kind, object, s.Status)
	}
	for tries := 0; apierrors.IsConflict(err) && tries < 5; tries++ {
		live, failed := c.Live(ctx, s.Name)
		switch {
		case failed != nil:
			err = failed
		case live.Object["status"] != nil:
			s.Notes = append(s.Notes, otherStatus)
			return
		default:
			err = c.SetStatus(ctx, kind, live, s.Status)
		}
	}
	if err != nil {
		s.Failed = true
		s.Notes = append(s.Notes, fmt.Sprintf("its status was not written: %v; to write it, run the command again", err))
	}
}

// existing returns the UID of an object that cannot be created, if an earlier restore of the same record created it: its dependents can
// then refer to it. The object stays as it is; only a status that it lacks is written. Otherwise it returns why the object cannot be
// created: the API server can refuse for another reason first, such as a quota, although the object exists.
func (r *restorer) existing(ctx context.Context, c *cluster.Cluster, s *restore.Step, failed error) (types.UID, error) {
	ctx = context.WithoutCancel(ctx)
	live, err := c.Live(ctx, s.Name)
	switch {
	case err == nil && s.SetRestored(live):
	case !apierrors.IsAlreadyExists(failed):
		return "", failed
	case err != nil:
		return "", fmt.Errorf("an object of this name exists, and it is not known whether it was restored before: %w", err)
	default:
		return "", errors.New("an object of this name exists, and restore never replaces an object; delete or rename that one first")
	}
	status := live.Object["status"]
	switch {
	case s.Status == nil || equality.Semantic.DeepEqual(status, any(s.Status)):
	case status != nil:
		s.Notes = append(s.Notes, otherStatus)
	case r.yes:
		r.setStatus(ctx, c, s, live)
	default:
		s.Notes = append(s.Notes, "its status would be written")
	}
	return live.GetUID(), nil
}

// check has the API server check an object. If the CustomResourceDefinition of its kind was created before, it waits until the API
// server serves the kind.
func (r *restorer) check(ctx context.Context, c *cluster.Cluster, object *unstructured.Unstructured) (kind cluster.Kind, answer *unstructured.Unstructured, err error) {
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
func (r *restorer) print(steps []*restore.Step) error {
	if err := restore.Write(r.out.Out, steps, r.yes); err != nil {
		return err
	}
	isWhole := true
	for _, s := range steps {
		isWhole = isWhole && (s.Why == "" || s.Older) && !s.Failed
		if !r.diff || s.Object == nil {
			continue
		}
		if _, err := writeDifference(r.out.Out, "restored", s.Archived, s.Object); err != nil {
			return err
		}
	}
	if !isWhole {
		return errFindings
	}
	return nil
}
