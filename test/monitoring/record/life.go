// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// policies are the policies of the simulated cluster.
//
//go:embed policies.yaml
var policies string

// life simulates a cluster: builds and previews that are created and deleted, one backlog, and errors.
type life struct {
	client  client.Client
	objects kubernetes.Interface
	made    atomic.Int64
}

const namespace = "shop"

func newLife(ctx context.Context, plane *cluster.Cluster) (*life, error) {
	config := rest.CopyConfig(plane.Config())
	config.QPS = -1
	objects, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	l := &life{client: c, objects: objects}
	if err := cluster.InstallSunset(config); err != nil {
		return nil, err
	}
	for _, name := range []string{"sunset-system", namespace} {
		if _, err := objects.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *life) apply(ctx context.Context, text string) error {
	for _, document := range strings.Split(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return err
		}
		if err := l.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("record"), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

// live runs the simulation until ctx ends.
func (l *life) live(ctx context.Context) error {
	parts := []func(context.Context, time.Duration) error{l.comeAndGo, l.leaveOver, l.misspell, l.churn}
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part(ctx, time.Second) }()
	}
	var err error
	for range parts {
		err = errors.Join(err, <-ended)
	}
	return err
}

// each calls do at an interval, with the time since the start, until it fails or ctx ends.
func each(ctx context.Context, every time.Duration, do func(at time.Duration) error) error {
	began := time.Now()
	for {
		if err := do(time.Since(began)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// comeAndGo creates builds in waves, and previews and shells at a constant rate.
func (l *life) comeAndGo(ctx context.Context, every time.Duration) error {
	return each(ctx, every, func(at time.Duration) error {
		wave := 1 + math.Sin(2*math.Pi*at.Minutes()/5)
		for range int(math.Round(wave * 3)) {
			if err := l.build(ctx); err != nil {
				return err
			}
		}
		return errors.Join(l.preview(ctx, nil), l.preview(ctx, nil), l.shell(ctx))
	})
}

// leaveOver creates after three minutes the objects that another tool has left behind, all due immediately.
func (l *life) leaveOver(ctx context.Context, _ time.Duration) error {
	return after(ctx, 3*time.Minute, func() error {
		for range 1500 {
			if err := l.preview(ctx, map[string]string{"left": "over"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// misspell creates after seven minutes an object that a rule cannot evaluate.
func (l *life) misspell(ctx context.Context, _ time.Duration) error {
	return after(ctx, 7*time.Minute, func() error { return l.preview(ctx, map[string]string{"ttl": "soon"}) })
}

// after calls do later, and then waits until ctx ends.
func after(ctx context.Context, later time.Duration, do func() error) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(later):
	}
	if err := do(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (l *life) name(of string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", of, l.made.Add(1))}
}

func (l *life) build(ctx context.Context) error {
	job := &batchv1.Job{ObjectMeta: l.name("build")}
	suspended := true // no component runs Pods here
	job.Spec.Suspend = &suspended
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "build", Image: "build"}}}
	_, err := l.objects.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{})
	return err
}

func (l *life) preview(ctx context.Context, more map[string]string) error {
	preview := &corev1.ConfigMap{ObjectMeta: l.name("preview")}
	preview.Labels = map[string]string{"env": "preview"}
	maps.Copy(preview.Labels, more)
	_, err := l.objects.CoreV1().ConfigMaps(namespace).Create(ctx, preview, metav1.CreateOptions{})
	return err
}

func (l *life) shell(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: l.name("shell")}
	pod.Labels = map[string]string{"for": "debugging"}
	pod.Spec = corev1.PodSpec{Containers: []corev1.Container{{
		Name: "shell", Image: "shell", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
	}}}
	_, err := l.objects.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// churn changes previews that are due soon, so that some deletions conflict.
func (l *life) churn(ctx context.Context, every time.Duration) error {
	return each(ctx, every, func(time.Duration) error {
		previews, err := l.objects.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: "env=preview,!left,!ttl"})
		if err != nil {
			return err
		}
		for i := range previews.Items {
			preview := &previews.Items[i]
			if time.Since(preview.CreationTimestamp.Time) < previewTTL-time.Second {
				continue
			}
			preview.Data = map[string]string{"changed": time.Now().String()}
			_, err := l.objects.CoreV1().ConfigMaps(namespace).Update(ctx, preview, metav1.UpdateOptions{})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return err
			}
		}
		return nil
	})
}

// previewTTL is the TTL of previews in policies.yaml.
const previewTTL = 30 * time.Second
