// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ReportCollector keeps the latest report of every node while there are rules about images.
type ReportCollector struct {
	Options
	wake wake.Signal

	mu      sync.Mutex
	wanted  bool
	reports *agentapi.Reports // nil until all have been read
	version uint64            // changes with every report
	readErr *retention.SourceError
}

// Use sets the policies. Without a rule about images the collector reads no reports.
func (c *ReportCollector) Use(snapshot *policy.Snapshot) {
	c.mu.Lock()
	c.wanted = slices.ContainsFunc(snapshot.Policies(), agentapi.OnNodes)
	c.mu.Unlock()
	c.wake.Send()
}

// Version returns a number that changes whenever the sums of the reports may have changed.
func (c *ReportCollector) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Unread returns why the collector cannot read the reports; nil if it can, or is about to.
func (c *ReportCollector) Unread() *retention.SourceError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readErr
}

// Sum returns the sums of all reports. policies must be all policies with rules about images. It returns false until every
// report has been read. A policy has removed at least the images in before, which its status shows.
func (c *ReportCollector) Sum(policies []*policy.Policy, before map[types.UID]agentapi.Removed, now time.Time) (agentapi.Sums, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reports == nil {
		return agentapi.Sums{}, false
	}
	for uid, known := range before {
		c.reports.Resume(uid, known)
	}
	return c.reports.Sum(policies, now), true
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader adds up reports.
func (c *ReportCollector) NeedLeaderElection() bool { return true }

// Start watches reports while there are rules about images, until ctx ends.
func (c *ReportCollector) Start(ctx context.Context) error {
	following := sync.WaitGroup{}
	defer following.Wait()
	var stop context.CancelFunc
	for {
		c.mu.Lock()
		wanted := c.wanted
		c.mu.Unlock()
		switch {
		case wanted && stop == nil:
			running, cancel := context.WithCancel(ctx)
			stop = cancel
			following.Go(func() { c.follow(running) })
		case !wanted && stop != nil:
			stop()
			following.Wait()
			stop = nil
			c.set(func() { c.reports, c.readErr = nil, nil })
		}
		select {
		case <-ctx.Done():
			if stop != nil {
				stop()
			}
			return nil
		case <-c.wake.C():
		}
	}
}

// absentEvery is the interval between checks for the CustomResourceDefinition of reports while it is missing.
const absentEvery = 5 * time.Second

// follow lists and watches reports until ctx ends.
func (c *ReportCollector) follow(ctx context.Context) {
	follower := listwatch.Follower{
		Name: "NodeImageReports", Clock: c.Clock, ListerWatcher: &listWatch{c.Client}, Expected: &v1alpha1.NodeImageReport{}, Store: store{c},
		Failed: func(err error) {
			if err != nil {
				c.set(func() { c.readErr = sourceErrorOf(err) })
			}
		},
	}
	for ctx.Err() == nil {
		follower.Run(ctx)
		wake.Sleep(ctx, c.Clock, absentEvery)
	}
}

// sourceErrorOf returns the reason of a failed list or watch, and what to do about it.
func sourceErrorOf(err error) *retention.SourceError {
	switch {
	case apierrors.IsForbidden(err):
		return &retention.SourceError{Reason: "Forbidden", Message: listwatch.Refused("nodeimagereports", "list", "watch")}
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return &retention.SourceError{Reason: "KindNotFound", Message: "the cluster does not serve kind NodeImageReport: apply the CustomResourceDefinitions of this version of Sunset"}
	default:
		return &retention.SourceError{Reason: "ListFailed", Message: "cannot list and watch nodeimagereports: " + err.Error()}
	}
}

func (c *ReportCollector) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.version++
}

// store passes what the reflector receives to the collector. It implements cache.TransformingStore.
type store struct{ collector *ReportCollector }

func (s store) Add(obj any) error {
	s.collector.set(func() { s.collector.reports.Put(obj.(*v1alpha1.NodeImageReport)) })
	return nil
}

func (s store) Update(obj any) error { return s.Add(obj) }

func (s store) Delete(obj any) error {
	s.collector.set(func() { s.collector.reports.Drop(obj.(*v1alpha1.NodeImageReport).Name) })
	return nil
}

func (s store) Replace(list []any, _ string) error {
	all := make([]*v1alpha1.NodeImageReport, len(list))
	for i, obj := range list {
		all[i] = obj.(*v1alpha1.NodeImageReport)
	}
	s.collector.set(func() {
		if s.collector.reports == nil {
			s.collector.reports = agentapi.NewReports()
		}
		s.collector.reports.Replace(all)
		s.collector.readErr = nil
	})
	return nil
}

func (s store) Resync() error { return nil }

// Transformer drops the fields of reports that are not added up, before they are stored.
func (s store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if report, ok := obj.(*v1alpha1.NodeImageReport); ok {
			agentapi.Strip(report)
		}
		return obj, nil
	}
}

// listWatch lists and watches reports. It implements cache.ListerWatcherWithContext.
type listWatch struct{ client client.WithWatch }

func (l *listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list := &v1alpha1.NodeImageReportList{}
	err := l.client.List(ctx, list, &client.ListOptions{Raw: &options, Limit: options.Limit, Continue: options.Continue})
	for i := range list.Items {
		agentapi.Strip(&list.Items[i])
	}
	return list, err
}

func (l *listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return l.client.Watch(ctx, &v1alpha1.NodeImageReportList{}, &client.ListOptions{Raw: &options})
}
