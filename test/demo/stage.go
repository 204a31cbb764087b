// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/program"
)

// nodes is the number of fake nodes that run the Jobs' Pods.
const nodes = 2

// systemNamespace is Sunset's own namespace.
const systemNamespace = "sunset-system"

// stage is the control plane with Sunset installed.
type stage struct {
	ui         ui
	cluster    *cluster.Cluster
	config     *rest.Config
	client     *kubernetes.Clientset
	binary     string // path of sunset-controller, which the cluster removes with its files
	controller *controller
}

// set prepares everything for the first policy. If the controller ends unexpectedly, it calls stop with the cause.
func (s *stage) set(ctx context.Context, stop context.CancelCauseFunc) error {
	return s.steps(ctx, []step{
		{"start etcd, kube-apiserver, kube-controller-manager and kwok", s.startCluster},
		{"install Sunset's CRDs", s.install},
		{"create an archive in a directory", s.createArchive},
		{"build sunset-controller", s.buildController},
		{"start sunset-controller and wait until it leads", func(ctx context.Context) error { return s.startController(ctx, stop) }},
	})
}

// step is one step of the preparation.
type step struct {
	name string
	do   func(context.Context) error
}

func (s *stage) steps(ctx context.Context, steps []step) error {
	for _, step := range steps {
		done := s.ui.begin(step.name)
		err := step.do(ctx)
		done(err)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (s *stage) startCluster(ctx context.Context) (err error) {
	if s.cluster, err = cluster.Start(ctx, cluster.Options{Nodes: nodes, Progress: s.ui}); err != nil {
		return err
	}
	s.config = s.cluster.Config()
	s.client, err = kubernetes.NewForConfig(s.config)
	return err
}

func (s *stage) install(ctx context.Context) error {
	if err := cluster.InstallSunset(s.config); err != nil {
		return err
	}
	for _, name := range []string{systemNamespace, shop, golden} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) buildController(ctx context.Context) (err error) {
	s.binary, err = program.Build(ctx, filepath.Dir(s.cluster.Kubeconfig()), "sunset-controller")
	return err
}

func (s *stage) startController(ctx context.Context, stop context.CancelCauseFunc) (err error) {
	if s.controller, err = startController(s.binary, s.cluster.Kubeconfig(), stop); err != nil {
		return err
	}
	return s.waitForLeader(ctx)
}

func (s *stage) waitForLeader(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		lease, err := s.client.CoordinationV1().Leases(systemNamespace).Get(ctx, "sunset-controller", metav1.GetOptions{})
		if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// clear stops the child processes, Sunset first; the cluster removes their files.
func (s *stage) clear() error {
	done := s.ui.begin("stop everything")
	var errs []error
	if s.controller != nil {
		errs = append(errs, s.controller.stop())
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop())
	}
	err := errors.Join(errs...)
	done(err)
	return err
}
