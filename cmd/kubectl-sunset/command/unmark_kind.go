package command

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// inFlight is how many objects are changed at a time.
const inFlight = 16

// unmark removes the marks from all objects of a kind. What is in the way of some does not keep the others back.
func (u *unmarking) unmark(ctx context.Context, c *cluster.Cluster, kind cluster.Kind, all *report.Unmarking) error {
	count := &tally{Unmarked: report.Unmarked{Kind: kind.GroupKind().String()}}
	err := c.EachMetadata(ctx, kind, u.namespace, func(page []cluster.Metadata) error {
		var group errgroup.Group
		group.SetLimit(inFlight)
		for i := range page {
			if _, marked := page[i].Annotations[v1alpha1.EligibleSinceAnnotation]; !marked {
				continue
			}
			count.Marked++
			if u.isDryRun() {
				continue
			}
			group.Go(func() error {
				count.add(removeMark(ctx, c, kind, &page[i]))
				return ctx.Err()
			})
		}
		return group.Wait()
	})
	var unlisted *cluster.ListError
	if errors.As(err, &unlisted) {
		all.Trouble = append(all.Trouble, unlisted.Error())
	} else if err != nil {
		return err
	}
	all.Add(count.Unmarked)
	return nil
}

// tally is filled by many at a time.
type tally struct {
	mu sync.Mutex
	report.Unmarked
}

func (t *tally) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.Done++
	case t.Failed == nil:
		t.Failed = err
	}
}

// removeMark removes the mark of one object. One that is gone meanwhile, or whose mark is, needs nothing more.
func removeMark(ctx context.Context, c *cluster.Cluster, kind cluster.Kind, version *cluster.Metadata) error {
	var err error
	for range attempts {
		err = c.Annotate(ctx, kind, version, v1alpha1.EligibleSinceAnnotation, nil)
		if !apierrors.IsConflict(err) {
			break
		}
		fresh, getErr := c.GetMetadata(ctx, kind, version.Namespace, version.Name)
		if getErr != nil {
			err = getErr
			break
		}
		if _, marked := fresh.Annotations[v1alpha1.EligibleSinceAnnotation]; !marked {
			return nil
		}
		version = fresh
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

const unmarkHelp = `Remove annotation sunset.x-k8s.io/eligible-since from objects. Rules without startTime write it, to know since when an
object has been eligible. Nobody needs it once Sunset is gone; while Sunset runs, removing it makes the times to live of
those rules start anew.

Objects are listed as metadata, page by page, all kinds with --all, and each marked one is patched in the version that
was read; one that has changed meanwhile is read again. A kind that cannot be listed or patched does not keep the others
back. It takes the rights to list and patch the kinds in question, and to list policies.

While rules without startTime are in force for those kinds the command refuses, as the controller would mark anew: set
their policies to DryRun or delete them first, or stop the controller and use --force.

Exit codes: 0 every mark that was found is gone; 1 some kinds could not be listed, or some objects not changed; 2 wrong
usage, rules in force, or a cluster that does not answer.`

const unmarkExamples = `  # How many objects are marked?
  kubectl sunset unmark --all --dry-run=client

  # Remove all marks, once Sunset is uninstalled
  kubectl sunset unmark --all --force

  # Let the time to live of the Pods of one namespace start anew
  kubectl sunset unmark pods -n team-a --force`
