// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// inFlight is the maximum number of concurrent changes.
const inFlight = 16

// unmark removes the marks from all objects of a kind. If it cannot change an object, it continues with the others.
func (u *unmarkCommand) unmark(ctx context.Context, c *cluster.Cluster, kind cluster.Kind, all *UnmarkReport) error {
	count := &UnmarkedKind{Kind: kind.GroupKind().String()}
	err := c.EachMetadata(ctx, kind, u.namespace, func(page []cluster.Metadata) error {
		var group errgroup.Group
		group.SetLimit(inFlight)
		for i := range page {
			if _, marked := page[i].Annotations[v1alpha1.EligibleSinceAnnotation]; !marked {
				continue
			}
			count.Marked++
			if u.output.is(asNames) {
				u.names = append(u.names, nameOf(kind.GroupVersion().String(), kind.Kind, page[i].Name))
			}
			if u.dryRun.isClient() {
				continue
			}
			group.Go(func() error {
				err := c.RemoveAnnotation(ctx, kind, &page[i], v1alpha1.EligibleSinceAnnotation)
				if !apierrors.IsNotFound(err) {
					count.done(err)
				}
				return ctx.Err()
			})
		}
		u.read += len(page)
		u.progress.Set(u.read)
		return group.Wait()
	})
	var unlisted *cluster.ListError
	if errors.As(err, &unlisted) {
		all.Errors = append(all.Errors, unlisted.Error())
	} else if err != nil {
		return err
	}
	all.add(count)
	return nil
}

const unmarkHelp = `Remove annotation sunset-k8s.io/eligible-since from objects. Rules without startTime set it, to record since when an
object is eligible. After you uninstall Sunset, nothing uses the annotation. If you remove it while Sunset runs, the TTL
of these rules starts again.

The command lists the metadata of objects, page by page, and removes only the annotation from each marked object. If a kind
cannot be listed or patched, the command continues with the other kinds. You need permission to list and patch these
kinds, and to list policies.

With -o name, the command prints the names of the marked objects.

While enforced rules without startTime target these kinds, the command fails, because the controller would mark objects
again. First set their policies to mode DryRun or delete them, or stop the controller and use --force.

Exit codes: 0 none of the marks that the command found is left; 1 it could not list some kinds, or not change some objects;
2 wrong usage, enforced rules that mark objects, or a cluster that cannot be read.`

const unmarkExamples = `  # How many objects are marked?
  kubectl sunset unmark --all --dry-run=client

  # How many of each kind? Output for a program
  kubectl sunset unmark --all --dry-run=client -o json

  # Remove all marks after you uninstalled Sunset
  kubectl sunset unmark --all --force

  # Start the TTL of the Pods in one namespace again
  kubectl sunset unmark pods -n team-a --force`
