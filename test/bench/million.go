// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// The policies of a million objects: one that keeps all, one whose objects are drained, and one for due objects.
const (
	millionPolicy = `
  mode: Enforce
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [lateness]}]}
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job, selector: {matchExpressions: [{key: lot, operator: DoesNotExist}]}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 30d
  - name: pods
    target: {apiVersion: v1, kind: Pod}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 30d
  - name: marker
    target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {lot: marker}}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 30d
`
	lotPolicy = `
  mode: DryRun
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {lot: drain}}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 0s
`
)

// million measures Sunset beside a million finished Jobs and 200,000 Pods, on a control plane of its own.
func (l *environment) million(ctx context.Context) error {
	return l.elsewhere(ctx, (*environment).millionObjects)
}

// elsewhere measures something on a control plane of its own, without controllers.
func (l *environment) elsewhere(ctx context.Context, measure func(*environment, context.Context) error) error {
	m, err := openEnvironment(ctx, l.options, cluster.Options{Controllers: []string{}, APIServerEnv: l.size.serverEnv, APIServerArgs: []string{
		// Every five minutes, the API server compares all objects with etcd, which takes minutes of both processors beside a million.
		"--feature-gates=DetectCacheInconsistency=false",
	}})
	if err != nil {
		return err
	}
	defer m.close()
	err = measure(m, ctx)
	l.table.rows = append(l.table.rows, m.table.rows...)
	return err
}

func (l *environment) millionObjects(ctx context.Context) error {
	began := time.Now()
	if err := l.storeMillion(ctx); err != nil {
		return fmt.Errorf("write objects into etcd: %w", err)
	}
	fmt.Fprintf(os.Stderr, "  stored after %s\n", time.Since(began).Round(time.Second))
	for name, spec := range map[string]string{"million": millionPolicy, "drain": lotPolicy, "lateness": fmt.Sprintf(latenessPolicy, "lateness")} {
		if _, err := l.apply(ctx, name, spec); err != nil {
			return err
		}
	}
	if err := l.addServer("before Sunset starts"); err != nil {
		return err
	}
	if err := l.measureOne(ctx); err != nil {
		return err
	}
	if err := l.addBareList(ctx); err != nil {
		return err
	}
	return l.takeover(ctx)
}

// addServer adds what the API server and etcd use.
func (l *environment) addServer(when string) error {
	server, err := footprintOf(l.plane.PID(cluster.APIServer))
	if err != nil {
		return err
	}
	etcd, err := footprintOf(l.plane.PID(cluster.Etcd))
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("API server with %d objects, %s", l.objects(), when), "peak "+megabytes(server.peak),
		fmt.Sprintf("%.0f s of CPU; etcd: peak %s, %.0f s", server.cpu.Seconds(), megabytes(etcd.peak), etcd.cpu.Seconds()))
	return nil
}

func (l *environment) objects() int { return l.size.million + l.size.millionPods }

// counted waits until the status of policy million describes its newest generation and all objects. It returns the time since
// then.
func (l *environment) counted(ctx context.Context, since time.Time) (time.Duration, error) {
	all := int64(l.objects() - l.size.millionDue)
	err := l.until(ctx, "million", fmt.Sprintf("counts %d objects", all), func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return p.Status.ObservedGeneration == p.Generation && p.Status.Matched >= all
	})
	return time.Since(since), err
}

// measureOne measures one controller: start, memory, idle CPU, metrics, edits, a drain, and lateness.
func (l *environment) measureOne(ctx context.Context) error {
	port, err := cluster.FreePort()
	if err != nil {
		return err
	}
	metrics := fmt.Sprintf("127.0.0.1:%d", port)
	began := time.Now()
	sunset, err := start(l.sunset, filepath.Join(l.dir, "sunset.log"), nil, append([]string{"--kubeconfig", l.plane.Kubeconfig(), "--leader-elect=false",
		"--health-probe-bind-address=0", "--metrics-bind-address=" + metrics, "--pprof-bind-address=" + l.pprof}, l.flags...)...)
	if err != nil {
		return err
	}
	defer sunset.stop()
	took, err := l.counted(ctx, began)
	if err != nil {
		return err
	}
	if err := l.untilIdle(ctx, sunset); err != nil {
		return err
	}
	idle, err := l.idleCPU(ctx, sunset)
	if err != nil {
		return err
	}
	now, peak, err := memory(sunset.pid())
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("Sunset, %d objects counted after its start", l.objects()), took.Round(100*time.Millisecond).String(), fmt.Sprintf("%d namespaces", l.size.namespaces))
	l.table.add("Sunset, resident beside them", megabytes(now), "peak "+megabytes(peak))
	l.table.add("Sunset, idle CPU beside them", fmt.Sprintf("%.3f %% of a core", idle), "")
	if err := l.addScrape(ctx, metrics); err != nil {
		return err
	}
	for _, measure := range []func(context.Context, *process) error{l.editTTL, l.editExpression, l.drainLot} {
		if err := measure(ctx, sunset); err != nil {
			return err
		}
	}
	late, err := l.lateBy(ctx, dueJobs{namespace: "lateness", n: l.size.lateness, every: dueEvery, ahead: l.size.ahead + time.Duration(l.size.lateness)*20*time.Millisecond})
	if err != nil {
		return err
	}
	l.table.add("Sunset, lateness at 100 due a second beside them", waits(late).text(), "from due to the DELETED event at another client")
	return l.addServer("after all measurements")
}

// idleCPU returns the share of a core that a process uses while nothing happens, in percent.
func (l *environment) idleCPU(ctx context.Context, p *process) (float64, error) {
	if err := pause(ctx, l.size.idle/3); err != nil {
		return 0, err
	}
	before, err := cpu(p.pid())
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, l.size.idle); err != nil {
		return 0, err
	}
	after, err := cpu(p.pid())
	return 100 * (after - before).Seconds() / l.size.idle.Seconds(), err
}

// addScrape adds the cost of reading the metrics.
func (l *environment) addScrape(ctx context.Context, address string) error {
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return err
	}
	l.table.add("Sunset, one scrape of its metrics", milliseconds(time.Since(began)), fmt.Sprintf("%d kB", n>>10))
	return nil
}

// editTTL measures an edit of the TTL of all objects that makes one of them due.
func (l *environment) editTTL(ctx context.Context, _ *process) error {
	marker, err := l.marker(ctx, "edited")
	if err != nil {
		return err
	}
	began := time.Now()
	if err := l.edit(ctx, "million", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL, s.Rules[2].TTL = "20d", "0s" }); err != nil {
		return err
	}
	if err := l.untilGone(ctx, marker); err != nil {
		return err
	}
	deleted := time.Since(began)
	written, err := l.counted(ctx, began)
	if err != nil {
		return err
	}
	l.table.add("Sunset, a TTL edit, until the one due Job is deleted", milliseconds(deleted), "in status after "+milliseconds(written))
	return nil
}

// marker creates a finished Job with its own rule, and waits until it is counted.
func (l *environment) marker(ctx context.Context, name string) (*batchv1.Job, error) {
	known, err := l.get(ctx, "million")
	if err != nil {
		return nil, err
	}
	b := batch{namespace: "seed", prefix: name, count: 1, finished: anHourAgo, labels: map[string]string{"lot": "marker"}}
	if err := l.create(ctx, b); err != nil {
		return nil, err
	}
	marker := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: b.name(0)}}
	marker.Namespace = b.namespace
	return marker, l.until(ctx, "million", "counts the marker", func(p *v1alpha1.ClusterRetentionPolicy) bool { return p.Status.Matched > known.Status.Matched })
}

func (l *environment) untilGone(ctx context.Context, job *batchv1.Job) error {
	for {
		_, err := l.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// editExpression measures a changed expression, for which everything is listed beside the known facts.
func (l *environment) editExpression(ctx context.Context, sunset *process) error {
	began := time.Now()
	if err := l.edit(ctx, "million", func(s *v1alpha1.ClusterRetentionPolicySpec) {
		s.Rules[0].Eligible = "finished(object) && object.metadata.name != ''"
	}); err != nil {
		return err
	}
	took, err := l.counted(ctx, began)
	if err != nil {
		return err
	}
	now, peak, err := memory(sunset.pid())
	if err != nil {
		return err
	}
	l.table.add("Sunset, a changed expression counted", took.Round(100*time.Millisecond).String(), fmt.Sprintf("%s afterwards, peak %s", megabytes(now), megabytes(peak)))
	return nil
}

// drainLot measures how fast the due Jobs go.
func (l *environment) drainLot(ctx context.Context, sunset *process) error {
	n := int64(l.size.millionDue)
	if err := l.matched(ctx, "drain", l.size.millionDue); err != nil {
		return err
	}
	before, err := cpu(sunset.pid())
	if err != nil {
		return err
	}
	began := time.Now()
	if err := l.edit(ctx, "drain", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce }); err != nil {
		return err
	}
	if err := l.until(ctx, "drain", fmt.Sprintf("has deleted %d objects", n), func(p *v1alpha1.ClusterRetentionPolicy) bool { return p.Status.Deleted == n }); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := cpu(sunset.pid())
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("Sunset, %d of them due", n), perSecond(l.size.millionDue, took), fmt.Sprintf("its own CPU for each %.2f ms", float64(after-before)/float64(n)/1e6))
	return nil
}
