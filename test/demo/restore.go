// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const archivesPath = "/apis/sunset-k8s.io/v1alpha1/retentionarchives"

//go:embed archive.yaml
var archiveYAML string

// createArchive creates the RetentionArchive. The cluster removes its directory together with its other files.
func (s *stage) createArchive(ctx context.Context) error {
	directory := filepath.Join(filepath.Dir(s.cluster.Kubeconfig()), "history")
	if err := os.Mkdir(directory, 0o700); err != nil {
		return err
	}
	object := &v1alpha1.RetentionArchive{}
	if err := yaml.UnmarshalStrict([]byte(archiveYAML), object); err != nil {
		return err
	}
	object.Spec.URL = "file://" + directory
	body, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	return s.client.RESTClient().Post().AbsPath(archivesPath).SetHeader("Content-Type", "application/yaml").Body(body).Do(ctx).Error()
}

// restored is the Job that the demo brings back: one that failed, whose rule archives it.
const restored = "sync-users"

// restore finds a deleted Job in the archive, brings it back, and checks that it does not run again.
func (d *demo) restore(ctx context.Context) error {
	found, err := d.kubectlSunset(ctx, "archive", "ls", "jobs", "-n", shop)
	if err != nil {
		return err
	}
	if !strings.Contains(found, restored) {
		return fmt.Errorf("the archive does not have Job %s:\n%s", restored, found)
	}
	if _, err := d.kubectlSunset(ctx, "archive", "restore", "job/"+restored, "-n", shop, "--yes"); err != nil {
		return err
	}
	return d.checkRestored(ctx)
}

// kubectlSunset runs a command of kubectl sunset in the demo's control plane, and prints it with its output.
func (d *demo) kubectlSunset(ctx context.Context, args ...string) (string, error) {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}
	code := command.Run(ctx, append(args, "--kubeconfig", d.stage.cluster.Kubeconfig()), streams, time.Now())
	line := "kubectl sunset " + strings.Join(args, " ")
	if code != command.ExitOK {
		return "", fmt.Errorf("%s: exit code %d\n%s%s", line, code, out.String(), errOut.String())
	}
	d.ui.say(line, strings.TrimRight(out.String(), "\n"))
	return out.String(), nil
}

// settle is how long the Job controller has to start Pods by mistake.
const settle = 2 * time.Second

// checkRestored returns an error if the restored Job runs or can be deleted.
func (d *demo) checkRestored(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(settle):
	}
	job, err := d.stage.client.BatchV1().Jobs(shop).Get(ctx, restored, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("the restored Job: %w", err)
	case job.Spec.Suspend == nil || !*job.Spec.Suspend:
		return errors.New("the restored Job is not suspended")
	case job.Status.Active > 0 || job.Status.StartTime != nil:
		return errors.New("the restored Job runs again")
	case job.Annotations[v1alpha1.HoldAnnotation] == "":
		return errors.New("the restored Job has no hold")
	}
	return nil
}
