// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/program"
)

const account = "system:serviceaccount:" + namespace + ":sunset-controller"

// permission is the permission to use a verb on a resource, with its group and subresource.
type permission struct{ verb, resource string }

// permissions installs the chart, runs the controller as its Deployment does, with the permissions of its account only, and
// makes it use every permission. The audit log shows the refused requests and the unused permissions.
func (s *server) permissions() {
	s.install(render(s.T, "--skip-tests", "--values", examples, "--set", "nodeAgent.enabled=true,rbac.references.enabled=true,metrics.readers[0].namespace=team,metrics.readers[0].name=prometheus"))
	s.applyAll("before.yaml")
	granted := s.granted()
	metrics := s.controller()
	s.applyAll("policies.yaml")
	s.applyAll("go.yaml")
	s.gone("go.yaml")
	s.scraped(metrics)
	images := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"rules":[{"name":"old","target":{"apiVersion":"node.sunset-k8s.io/v1alpha1","kind":"Image"},"eligible":"!object.status.inUse","startTime":"object.status.lastUsed","ttl":"40d"}]}}`))
	expect.NoError(s, s.Patch(s.Context(), policyNamed("images"), images))
	if err := s.Delete(s.Context(), policyNamed("kinds")); err != nil { // its ledger is deleted with it
		s.Fatal(err)
	}
	cluster.Eventually(s, patience, func() error {
		used, _ := s.asked()
		unused := slices.DeleteFunc(slices.Clone(granted), func(r permission) bool { return used[r] || spare(r, used) })
		return cluster.Want(len(unused) == 0, "never used: %v", unused)
	})
	if _, refused := s.asked(); len(refused) > 0 {
		s.Errorf("refused: %v", slices.Collect(maps.Keys(refused)))
	}
}

// spare reports whether a permission is only for other API servers, which cannot stream a list into a watch, or for a list that
// lacks an approval before the watch shows that it was deleted.
func spare(r permission, used map[permission]bool) bool {
	return r.verb == "list" && used[permission{"watch", r.resource}] ||
		r.verb == "get" && strings.HasSuffix(r.resource, "approvals."+v1alpha1.GroupVersion.Group)
}

func policyNamed(name string) *v1alpha1.ClusterRetentionPolicy {
	p := &v1alpha1.ClusterRetentionPolicy{}
	p.SetName(name)
	return p
}

// install applies the rendered objects. The API server cannot reach the webhook here, so failurePolicy becomes Ignore.
func (s *server) install(text []byte) {
	s.Helper()
	for _, object := range objects(s.T, text) {
		if object.GetKind() == "ValidatingWebhookConfiguration" {
			webhook := object.Object["webhooks"].([]any)[0].(map[string]any)
			webhook["failurePolicy"], webhook["timeoutSeconds"] = "Ignore", int64(1)
		}
		if err := s.apply(s.Context(), object); err != nil {
			s.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			s.served(object.GetName())
		}
	}
}

// applyAll applies a file of testdata/permissions.
func (s *server) applyAll(file string) {
	s.Helper()
	for _, object := range objects(s.T, read(s.T, "testdata/permissions/"+file)) {
		if owners := object.GetOwnerReferences(); len(owners) > 0 {
			owner := &unstructured.Unstructured{}
			owner.SetGroupVersionKind(schema.FromAPIVersionAndKind(owners[0].APIVersion, owners[0].Kind))
			expect.NoError(s, s.Get(s.Context(), client.ObjectKey{Namespace: object.GetNamespace(), Name: owners[0].Name}, owner))
			owners[0].UID = owner.GetUID()
			object.SetOwnerReferences(owners)
		}
		cluster.Eventually(s, patience, func() error { // discovery may lag behind a newly served kind
			if err := s.apply(s.Context(), object); err != nil {
				return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
			return nil
		})
	}
}

// gone waits until no object of a file is left, of the given kinds or of all.
func (s *server) gone(file string, kinds ...string) {
	s.Helper()
	for _, object := range objects(s.T, read(s.T, "testdata/permissions/"+file)) {
		if len(kinds) > 0 && !slices.Contains(kinds, object.GetKind()) {
			continue
		}
		cluster.Eventually(s, patience, func() error {
			err := s.Get(s.Context(), client.ObjectKeyFromObject(object), object)
			if err == nil {
				err = errors.New("is still there")
			}
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		})
	}
}

// granted returns the permissions of the chart's account once the API server's controllers have aggregated them.
func (s *server) granted() (all []permission) {
	s.Helper()
	cluster.Eventually(s, patience, func() error {
		role := &rbacv1.ClusterRole{}
		if err := s.Get(s.Context(), client.ObjectKey{Name: "sunset-kinds"}, role); err != nil {
			return err
		}
		return cluster.Want(len(role.Rules) >= 9, "only %d rules are aggregated", len(role.Rules))
	})
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	cluster.Eventually(s, patience, func() error { return s.may(account, "delete", jobs, "", true) }) // the authorizer has read the role
	var rules []rbacv1.PolicyRule
	for _, name := range []string{"sunset-core", "sunset-kinds", "sunset-webhook", "sunset-metrics"} {
		role := &rbacv1.ClusterRole{}
		expect.NoError(s, s.Get(s.Context(), client.ObjectKey{Name: name}, role))
		rules = append(rules, role.Rules...)
	}
	for _, name := range []string{"sunset-lease", "sunset-webhook"} {
		role := &rbacv1.Role{}
		expect.NoError(s, s.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: name}, role))
		rules = append(rules, role.Rules...)
	}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, permission{verb, schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}.String()})
			}
		}
	}
	return all
}

// controller runs the program with the arguments and the account of the Deployment until the test ends. It returns the
// address of the metrics.
func (s *server) controller() (metrics string) {
	s.Helper()
	dir := s.TempDir()
	metrics = freeAddress(s)
	controller, err := program.Build(s.Context(), dir, "sunset-controller")
	expect.NoError(s, err)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	config, err := s.plane.UserConfig(account, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	expect.NoError(s, err)
	expect.NoError(s, cluster.WriteKubeconfig(kubeconfig, config))
	deployment := &unstructured.Unstructured{}
	deployment.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	expect.NoError(s, s.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: "sunset-controller"}, deployment))
	var args []string
	for _, arg := range specOf(s.T, deployment)["containers"].([]any)[0].(map[string]any)["args"].([]any) {
		args = append(args, arg.(string))
	}
	command := exec.Command(controller, append(args, "--kubeconfig="+kubeconfig, "--metrics-bind-address="+metrics,
		"--health-probe-bind-address=0", "--webhook-bind-address="+freeAddress(s), "--webhook-cert-dir="+dir)...)
	var said bytes.Buffer
	command.Stderr = &said
	expect.NoError(s, command.Start())
	s.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
		defer kill.Stop()
		if err := command.Wait(); err != nil || s.Failed() {
			s.Errorf("the controller: %v\n%s", err, &said)
		}
	})
	return metrics
}

func freeAddress(s *server) string {
	s.Helper()
	port, err := cluster.FreePort()
	expect.NoError(s, err)
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// asked reads the audit log. It returns the permissions that the account has used, and the requests that were refused
// because a permission is missing.
func (s *server) asked() (used, refused map[permission]bool) {
	s.Helper()
	log, err := os.Open(s.plane.AuditLog())
	expect.NoError(s, err)
	defer func() { _ = log.Close() }()
	used, refused = map[permission]bool{}, map[permission]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(account)) {
			continue // decoding all lines takes seconds
		}
		var event struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      *struct{ APIGroup, Resource, Subresource string }
			ResponseStatus *struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || event.User.Username != account || event.ObjectRef == nil || event.ResponseStatus == nil {
			continue // an incomplete line is read next time
		}
		resource := schema.GroupResource{Group: event.ObjectRef.APIGroup, Resource: event.ObjectRef.Resource}
		if event.ObjectRef.Subresource != "" {
			resource.Resource += "/" + event.ObjectRef.Subresource
		}
		to := used
		if event.ResponseStatus.Code == http.StatusForbidden {
			to = refused
		}
		to[permission{event.Verb, resource.String()}] = true
	}
	return used, refused
}
