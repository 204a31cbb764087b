// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/who"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/ledger"
)

// ask searches the cluster.
func (w *whoCommand) ask(ctx context.Context, report *who.Report) error {
	c, err := w.connection.connect()
	if err != nil {
		return err
	}
	c.Listed = w.progress.Add
	kind, err := c.Kind(report.Object.Kind)
	served := err == nil
	if !served { // its definition may have been deleted too; if the cluster cannot be read, the list of Events fails
		notes{w.streams.ErrOut}.note("%v; the command does not say whether the object exists", err)
	}
	report.Object.Namespace = ""
	if kind.Namespaced || !served {
		if report.Object.Namespace, _, err = w.connection.ToRawKubeConfigLoader().Namespace(); err != nil {
			return err
		}
	}
	if served {
		if err := addLive(ctx, c, kind, report); err != nil {
			return err
		}
	}
	events, err := c.EventsAbout(ctx, report.Object.Namespace, report.Object.Name)
	if err != nil {
		return fmt.Errorf("list Events: %w", err)
	}
	for i := range events {
		addEvent(report, &events[i])
	}
	return addOpen(ctx, c, report)
}

// addLive sets the name of the kind, and adds the object of this name that exists now.
func addLive(ctx context.Context, c *cluster.Cluster, kind cluster.Kind, report *who.Report) error {
	report.Object.Kind = strings.ToLower(kind.Kind)
	if kind.Group != "" {
		report.Object.Kind += "." + kind.Group
	}
	object, err := c.GetMetadata(ctx, kind, report.Object.Namespace, report.Object.Name)
	switch {
	case err == nil:
		created := object.CreationTimestamp.UTC() // decoding has set the local time zone
		report.ExistsSince = &created
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return err
	}
	return nil
}

// addEvent adds an Event that Sunset wrote about a deletion.
func addEvent(report *who.Report, e *eventsv1.Event) {
	about := audit.Object{
		APIVersion: e.Regarding.APIVersion, Kind: e.Regarding.Kind, Namespace: e.Regarding.Namespace,
		Name: e.Regarding.Name, UID: e.Regarding.UID, ResourceVersion: e.Regarding.ResourceVersion,
	}
	deletes := e.Reason == string(policy.Expired) || e.Reason == string(policy.OverCapacity)
	if e.ReportingController != "sunset" || e.Action != "Delete" || !deletes || !report.Object.Is(about) {
		return
	}
	report.Add(who.Deletion{Time: e.EventTime.UTC(), By: who.Sunset, Result: audit.Deleted, Object: about, Note: e.Note, Source: "Event " + e.Name})
}

// addOpen adds the deletions that ledgers record and whose result Sunset does not know yet.
func addOpen(ctx context.Context, c *cluster.Cluster, report *who.Report) error {
	ledgers, err := c.Ledgers(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list RetentionLedgers: %w", err)
	}
	for _, l := range ledgers {
		for _, open := range l.Open {
			for _, line := range open.Objects {
				target, err := ledger.ParseLine(line)
				if err != nil {
					continue
				}
				about := audit.Object{
					APIVersion: open.APIVersion, Kind: open.Kind, Namespace: open.Namespace, Name: target.Name, UID: target.UID, ResourceVersion: target.ResourceVersion,
				}
				if report.Object.Is(about) {
					report.Add(who.Deletion{
						By: who.Sunset, Result: audit.Unknown, Object: about, Source: "RetentionLedger " + l.Name,
						Note: fmt.Sprintf("rule %s of policy %s", open.Rule, l.Policy.Name),
					})
				}
			}
		}
	}
	return nil
}
