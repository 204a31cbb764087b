// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// openReports installs the CustomResourceDefinitions of OpenReports from its Go module until the test ends, and returns a client for
// reports.
func (w *env) openReports() client.Client {
	w.Helper()
	dir, err := exec.CommandContext(w.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openreports/reports-api").Output()
	expect.NoError(w, err)
	crds := filepath.Join(strings.TrimSpace(string(dir)), "config", "crd")
	installed, err := cluster.InstallCRDs(w.plane.Config(), envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true})
	expect.NoError(w, err)
	w.Cleanup(func() {
		_ = envtest.UninstallCRDs(w.plane.Config(), envtest.CRDInstallOptions{Paths: []string{crds}})
		for _, crd := range installed { // another test may install them next
			cluster.Eventually(w, patience, func() error {
				err := w.Get(context.Background(), client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{})
				return cluster.Want(apierrors.IsNotFound(err), "%s still exists: %v", crd.Name, err)
			})
		}
	})
	scheme := runtime.NewScheme()
	expect.NoError(w, openreports.Install(scheme))
	c, err := client.New(w.plane.Config(), client.Options{Scheme: scheme})
	expect.NoError(w, err)
	return c
}

// TestReports: the API server accepts the report of a policy. Its results change with the objects, and the garbage collector deletes
// it with its policy.
func TestReports(t *testing.T) {
	w := newEnv(t)
	c := w.openReports()
	w.sunset(func(config *manager.Config) { config.OpenReports = true })
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "1h"))
	w.configMap("soon", preview)
	held := w.configMap("held", preview)
	held.Annotations = map[string]string{v1alpha1.HoldAnnotation: "true"}
	expect.NoError(t, w.Update(t.Context(), held))
	stored := &openreports.Report{}
	stored.Namespace, stored.Name = w.namespace, "sunset-"+string(p.UID)
	wants := func(want ...string) {
		t.Helper()
		cluster.Eventually(t, 4*patience, func() error { // a round a minute
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
				return err
			}
			var got []string
			for _, r := range stored.Results {
				got = append(got, string(r.Result)+" "+r.Subjects[0].Name)
			}
			return cluster.Want(strings.Join(got, ", ") == strings.Join(want, ", "), "results %v, want %v", got, want)
		})
	}
	wants("warn soon", "skip held")
	expect.Equal(t, "summary", openreports.ReportSummary{Warn: 1, Skip: 1}, stored.Summary)
	expect.NoError(t, w.Delete(t.Context(), held))
	wants("warn soon")
	expect.NoError(t, w.Delete(t.Context(), p))
	cluster.Eventually(t, 4*patience, func() error {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored)
		return cluster.Want(client.IgnoreNotFound(err) == nil && err != nil, "the report still exists: %v", err)
	})
}
