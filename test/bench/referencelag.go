// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// lagEvery is the interval between the Pods whose effect is measured.
const lagEvery = 50 * time.Millisecond

// lags measures how soon a new Pod counts: when Sunset removes the eligible-since annotation of a ConfigMap that the Pod
// names. It measures first without other load, then while Pods are created and deleted as fast as the API server allows.
func (l *environment) lags(ctx context.Context, sunset *process) error {
	half := l.size.spares / 2
	quiet, err := l.lag(ctx, 0, half)
	if err != nil {
		return err
	}
	var busy waits
	c, err := l.churn(ctx, sunset, func(ctx context.Context) (err error) {
		busy, err = l.lag(ctx, half, l.size.spares)
		return err
	})
	if err != nil {
		return err
	}
	l.table.add("Sunset, from the creation of a Pod until its ConfigMap is used", quiet.text(),
		"until another client sees the annotation removed; the POST, Sunset's PATCH and two watches included")
	l.table.add(fmt.Sprintf("the same while %s Pods are created and deleted", perSecond(c.pods, c.took)), busy.text(),
		fmt.Sprintf("%s events; Sunset's CPU for each %.2f ms, %.0f %% of a core", perSecond(2*c.pods, c.took),
			1000*c.cpu.Seconds()/float64(2*c.pods), 100*c.cpu.Seconds()/c.took.Seconds()))
	return nil
}

// marksWritten waits until every spare ConfigMap is marked.
func (l *environment) marksWritten(ctx context.Context) error {
	for {
		list, err := l.client.CoreV1().ConfigMaps(spareNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		marked := 0
		for i := range list.Items {
			if isMarked(&list.Items[i]) {
				marked++
			}
		}
		if marked == l.size.spares {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d are marked: %w", marked, l.size.spares, err)
		}
	}
}

func isMarked(cm *corev1.ConfigMap) bool {
	_, ok := cm.Annotations[v1alpha1.EligibleSinceAnnotation]
	return ok
}

// lag creates a Pod for each of some spare ConfigMaps, and returns how long each kept its mark.
func (l *environment) lag(ctx context.Context, first, end int) (waits, error) {
	w, err := l.client.CoreV1().ConfigMaps(spareNamespace).Watch(ctx, metav1.ListOptions{ResourceVersion: ""})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	var mu sync.Mutex
	began := map[string]time.Time{}
	created := make(chan error, 1)
	go func() {
		created <- l.paced(ctx, end-first, func(i int) error {
			name := spareName(first + i)
			mu.Lock()
			began[name] = time.Now()
			mu.Unlock()
			_, err := l.createPod(ctx, referringPod(spareNamespace, "uses-"+name, name))
			return err
		})
	}()
	var all waits
	for len(all) < end-first {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-created:
			if err != nil {
				return nil, err
			}
			created = nil
		case event, ok := <-w.ResultChan():
			if !ok {
				return nil, errors.New("the watch ended")
			}
			cm, isMap := event.Object.(*corev1.ConfigMap)
			if !isMap || event.Type != watch.Modified || isMarked(cm) {
				continue
			}
			mu.Lock()
			if at, waiting := began[cm.Name]; waiting {
				all = append(all, time.Since(at))
				delete(began, cm.Name)
			}
			mu.Unlock()
		}
	}
	return all, nil
}

// paced calls do n times at a steady pace.
func (l *environment) paced(ctx context.Context, n int, do func(int) error) error {
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
		if err := pause(ctx, lagEvery); err != nil {
			return err
		}
	}
	return nil
}

// churned counts the Pods that were created and deleted.
type churned struct {
	pods int
	took time.Duration
	cpu  time.Duration // of Sunset during that time
}

// churn creates and deletes Pods while work runs, and at least for some time.
func (l *environment) churn(ctx context.Context, sunset *process, work func(context.Context) error) (c churned, err error) {
	before, err := cpu(sunset.pid())
	if err != nil {
		return c, err
	}
	began := time.Now()
	var over atomic.Bool
	worked := make(chan error, 1)
	go func() {
		defer over.Store(true)
		err := work(ctx)
		if err == nil {
			err = pause(ctx, time.Until(began.Add(l.size.idle)))
		}
		worked <- err
	}()
	var pods atomic.Int64
	err = together(ctx, creators, func(ctx context.Context, worker int) error {
		for i := 0; !over.Load(); i++ {
			if err := l.comeAndGo(ctx, fmt.Sprintf("churn-%d-%d", worker, i), worker); err != nil {
				return err
			}
			pods.Add(1)
		}
		return nil
	})
	if err = errors.Join(err, <-worked); err != nil {
		return c, err
	}
	c = churned{pods: int(pods.Load()), took: time.Since(began)}
	after, err := cpu(sunset.pid())
	c.cpu = after - before
	return c, err
}

func (l *environment) comeAndGo(ctx context.Context, name string, of int) error {
	namespace := referredIn(of)
	if _, err := l.createPod(ctx, referringPod(namespace, name, referredName(of%l.size.referred))); err != nil {
		return err
	}
	return l.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
}
