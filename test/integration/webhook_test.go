// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/admission"
	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// webhook is a controller that reviews policies, with Sunset's objects in a separate namespace.
type webhook struct {
	*env
	stop func()
}

// webhook starts a controller and waits until the API server calls it.
func (w *env) webhook() *webhook {
	w.Helper()
	h := w.startWebhook(freePort(w.T), w.TempDir())
	h.answers(w)
	return h
}

// startWebhook starts a controller with the permissions of webhook.yaml. The Secret is mounted at dir.
func (w *env) startWebhook(port int, dir string, adjust ...func(*admission.Serving)) *webhook {
	w.Helper()
	home := newEnv(w.T)
	w.Cleanup(func() { // after the file's objects are deleted: other tests write policies too
		cluster.Eventually(w, patience, func() error {
			return w.Create(context.Background(), w.own("probe", ownRules), client.DryRunAll)
		})
	})
	home.apply("webhook.yaml", func(object *unstructured.Unstructured) { home.settle(object, port) })
	user := "system:serviceaccount:" + home.namespace + ":sunset-controller"
	config, err := w.plane.UserConfig(user)
	expect.NoError(w, err)
	home.grant(user, "core", core...)
	home.grant(user, "configmaps", onConfigMaps("list", "watch", "delete"))
	home.mount(dir)
	return &webhook{env: home, stop: w.sunset(func(c *manager.Config) {
		c.Rest, c.Namespace = config, home.namespace
		c.Webhook = admission.Serving{
			Address: fmt.Sprintf("127.0.0.1:%d", port), CertDir: dir,
			Secret: "sunset-webhook", Service: "sunset-webhook", Configuration: home.namespace,
		}
		for _, a := range adjust {
			a(&c.Webhook)
		}
	})}
}

// answers waits until the API server receives responses from the webhook.
func (h *webhook) answers(w *env) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		err := w.Create(w.Context(), w.own("probe", strings.Replace(ownRules, `"true"`, `"tru"`, 1)), client.DryRunAll)
		return refused(err, "spec.rules[0].eligible:1:1")
	})
}

// settle adapts objects of webhook.yaml to a Sunset in the test's namespace that serves on this machine.
func (w *env) settle(object *unstructured.Unstructured, port int) {
	if object.GetNamespace() != "" {
		object.SetNamespace(w.namespace)
	} else {
		object.SetName(w.namespace)
	}
	switch object.GetKind() {
	case "Service":
		object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	case "ClusterRole":
		set(object.Object, strings.Split("rules/1/resourceNames", "/"), []any{w.namespace})
	case "ClusterRoleBinding":
		set(object.Object, strings.Split("roleRef/name", "/"), w.namespace)
		set(object.Object, strings.Split("subjects/0/namespace", "/"), w.namespace)
	case "RoleBinding":
		set(object.Object, strings.Split("subjects/0/namespace", "/"), w.namespace)
	case "ValidatingWebhookConfiguration":
		set(object.Object, strings.Split("webhooks/0/clientConfig/service/namespace", "/"), w.namespace)
		set(object.Object, strings.Split("webhooks/0/clientConfig/service/port", "/"), int64(port))
	}
}

// mount copies the Secret to a directory like a kubelet, until the test ends.
func (w *env) mount(dir string) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			secret := &corev1.Secret{}
			if err := w.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "sunset-webhook"}, secret); err == nil {
				for name, data := range secret.Data {
					_ = os.WriteFile(filepath.Join(dir, name+".new"), data, 0o600)
					_ = os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name))
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	w.Cleanup(func() { cancel(); done.Wait() })
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := cluster.FreePort()
	expect.NoError(t, err)
	return port
}

// warned is a client that records the warnings it receives.
type warned struct {
	client.Client
	warnings
}

type warnings struct {
	mu  sync.Mutex
	got []string
}

func (l *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, text)
}

func (l *warnings) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Join(l.got, "\n")
	l.got = nil
	return all
}

// listen returns an administrator's client that records warnings.
func (w *env) listen() *warned {
	w.Helper()
	l := &warned{}
	config := w.plane.Config()
	config.WarningHandlerWithContext = &l.warnings
	c, err := client.New(config, client.Options{Scheme: w.Scheme()})
	expect.NoError(w, err)
	l.Client = c
	return l
}

var _ rest.WarningHandlerWithContext = &warnings{}

var makesPods = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}

// targeting is ownRules with another target.
func targeting(target string) string {
	return strings.Replace(ownRules, "{apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}", target, 1)
}

// TestWebhook has one webhook for tests that neither stop nor change it.
func TestWebhook(t *testing.T) {
	newEnv(t).webhook()
	t.Run("each mistake has the same message everywhere", mistakesHaveTheSameMessageEverywhere)
	t.Run("refuses policies", webhookRefusesPolicies)
	t.Run("refuses archives", webhookRefusesArchives)
	t.Run("warns", webhookWarns)
	t.Run("warns of kinds to come in cluster policies", webhookWarnsOfKindsToCome)
}

func webhookRefusesPolicies(t *testing.T) {
	w := newEnv(t)
	author := w.tenant("author", writesPolicies, makesPods, onConfigMaps("list", "delete"))
	weak := w.tenant("weak", writesPolicies, onConfigMaps("list", "delete"))
	for name, test := range map[string]struct {
		by   client.Client
		spec string
		want []string
	}{
		"several mistakes at once": {author, strings.Replace(ownRules, "kind: ConfigMap", "kind: Secret", 1) + "  keepNewestt: {count: 3}\n",
			[]string{"spec.rules[0].keepNewestt: unknown", "author may not list and delete secrets in namespace " + w.namespace}},
		"a wrong expression":                      {author, strings.Replace(ownRules, `"true"`, "finshed(object)", 1), []string{"spec.rules[0].eligible:1:", "finished"}},
		"an account that the user may not use":    {weak, ownRules, []string{"spec.serviceAccountName: the rules act as service account cleaner, and", "weak may neither create Pods"}},
		"a kind that the user may not delete":     {author, targeting("{apiVersion: batch/v1, kind: Job}"), []string{"spec.rules[0].target.kind: ", "may not list and delete jobs.batch in"}},
		"a cluster-scoped kind":                   {author, targeting("{apiVersion: storage.k8s.io/v1, kind: StorageClass}"), []string{"StorageClass.storage.k8s.io objects are cluster-scoped"}},
		"our own kinds":                           {author, targeting("{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy}"), []string{"protected kind"}},
		"an unknown kind":                         {author, targeting("{apiVersion: batch/v1, kind: Jobs}"), []string{"no matches for kind \"Jobs\" in version \"batch/v1\" (did you mean Job?)"}},
		"a kind of another group":                 {author, targeting("{apiVersion: v1, kind: Job}"), []string{"no matches for kind \"Job\" in version \"v1\" (did you mean apiVersion: batch/v1?)"}},
		"a kind of a group that is not installed": {author, targeting("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet}"), []string{`no matches for kind "JobSet"`, "CustomResourceDefinition"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := refused(test.by.Create(t.Context(), w.own("p", test.spec)), test.want...); err != nil {
				t.Error(err)
			}
		})
	}
	if err := author.Create(t.Context(), w.own("p", ownRules)); err != nil {
		t.Error(err)
	}
	if err := refused(weak.Patch(t.Context(), w.own("p", ownRules), edit(`{"spec":{"mode":"Enforce"}}`)), "weak may neither create Pods"); err != nil {
		t.Error(err)
	}
}

func webhookWarns(t *testing.T) {
	w := newEnv(t)
	l := w.listen()
	w.policy("batch", "rules: [{name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: 'true', startTime: finishedAt(object), ttl: 1d}]")
	batch := w.namespace + "-batch"
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		want   []string
	}{
		"a field that the schema lacks": {w.own("a", strings.Replace(ownRules, `"true"`, `"object.?dataa.hasValue()"`, 1)), []string{"spec.rules[0].eligible:1:", "dataa"}},
		"a target that matches nothing": {w.own("a", ownRules), []string{"spec.rules[0].target: matches no ConfigMap now"}},
		"an override of an unknown policy": {w.own("a", fmt.Sprintf("overrides: [{policy: %ss, ttl: 1d}, {policy: %s, rule: jobss, ttl: 1d}]", batch, batch)), []string{
			fmt.Sprintf("spec.overrides[0].policy: ClusterRetentionPolicy %q does not exist (did you mean %s?)", batch+"s", batch),
			fmt.Sprintf(`spec.overrides[1].rule: policy %s has no rule "jobss" (did you mean jobs?)`, batch),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster.Eventually(t, patience, func() error { // there are none if a busy API server takes more than three seconds to answer
				expect.NoError(t, l.Create(t.Context(), test.object.DeepCopy(), client.DryRunAll))
				return contains(l.take(), test.want...)
			})
		})
	}
	w.configMap("cm", preview)
	expect.NoError(t, l.Create(t.Context(), w.own("a", ownRules), client.DryRunAll))
	if got := l.take(); got != "" && !strings.Contains(got, `ClusterRetentionPolicy "batch" does not exist`) || strings.Contains(got, "matches") {
		t.Errorf("warning about a correct rule: %s", got)
	}
}

func webhookWarnsOfKindsToCome(t *testing.T) {
	w := newEnv(t)
	l := w.listen()
	p := w.clusterPolicy("kueue", `
namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: nowhere}}
rules: [{name: jobsets, target: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet}, eligible: "true", startTime: finishedAt(object), ttl: 1d}]
`)
	cluster.Eventually(t, patience, func() error { // some warnings are missing if a busy API server takes more than three seconds to answer
		expect.NoError(t, l.Create(t.Context(), p.DeepCopy(), client.DryRunAll))
		return contains(l.take(), "no matches for kind \"JobSet\" in version \"jobset.x-k8s.io/v1alpha2\"", "spec.namespaceSelector: selects no namespace now")
	})
}

func TestWebhookDownAllowsSuspendAndDelete(t *testing.T) {
	w := newEnv(t)
	h := w.webhook()
	p := w.policy("batch", "mode: Enforce\nrules: [{name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: 'true', startTime: finishedAt(object), ttl: 1d}]")
	w.create(w.own("p", "mode: Enforce"+ownRules))
	author := w.tenant("author", writesPolicies)
	h.stop()
	if err := w.Patch(t.Context(), p, edit(`{"spec":{"mode":"DryRun"}}`)); !apierrors.IsInternalError(err) || contains(err.Error(), "review.sunset-k8s.io") != nil {
		t.Errorf("the webhook did not check an edit: %v", err)
	}
	if err := w.Create(t.Context(), w.own("new", ownRules)); !apierrors.IsInternalError(err) {
		t.Errorf("the webhook did not check a new policy: %v", err)
	}
	for _, patch := range []string{`{"metadata":{"labels":{"a":"b"}}}`, `{"spec":{"mode":"Suspend"}}`} {
		if err := w.Patch(t.Context(), p, edit(patch)); err != nil {
			t.Errorf("cluster policy: %s: %v", patch, err)
		}
		if err := author.Patch(t.Context(), w.own("p", ownRules), edit(patch)); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	if err := w.Delete(t.Context(), p); err != nil {
		t.Error(err)
	}
	if err := author.Delete(t.Context(), w.own("p", ownRules)); err != nil {
		t.Error(err)
	}
}

func TestCertificateIsRenewed(t *testing.T) {
	w := newEnv(t)
	h := w.webhook()
	authority := func() []byte {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		expect.NoError(t, w.Get(t.Context(), client.ObjectKey{Name: h.namespace}, c))
		return c.Webhooks[0].ClientConfig.CABundle
	}
	before := authority()
	if !bytes.Contains(before, []byte("BEGIN CERTIFICATE")) {
		t.Fatalf("caBundle is %q", before)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "sunset-webhook"}}
	expect.NoError(t, w.Patch(t.Context(), secret, edit(`{"data":null}`)))
	cluster.Eventually(t, patience, func() error {
		return cluster.Want(!bytes.Equal(before, authority()), "the authority has not changed")
	})
	h.answers(w)
}

func TestControllerWorksWithoutCertificate(t *testing.T) {
	w := newEnv(t)
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	h := w.startWebhook(freePort(t), t.TempDir(), func(s *admission.Serving) { s.Secret = "late" })
	w.gone(w.configMap("cm", preview))
	h.grant("system:serviceaccount:"+h.namespace+":sunset-controller", "late", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"late"}, Verbs: []string{"get", "list", "watch", "update"},
	})
	h.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "late"}})
	cluster.Eventually(t, patience, func() error {
		secret := &corev1.Secret{}
		if err := h.Get(t.Context(), client.ObjectKey{Namespace: h.namespace, Name: "late"}, secret); err != nil {
			return err
		}
		return contains(string(secret.Data[corev1.TLSCertKey]), "BEGIN CERTIFICATE")
	})
}

func TestCertificateOfSomebodyElse(t *testing.T) {
	w := newEnv(t)
	dir := t.TempDir()
	h := w.startWebhook(freePort(t), dir, func(s *admission.Serving) { s.Secret = "" })
	certificate, key, err := cert.GenerateSelfSignedCertKey(fmt.Sprintf("sunset-webhook.%s.svc", h.namespace), nil, nil)
	expect.NoError(t, err)
	for name, data := range map[string][]byte{"tls.key": key, "tls.crt": certificate} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}}
	bundle := fmt.Sprintf(`[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":%q}]`, base64.StdEncoding.EncodeToString(certificate))
	expect.NoError(t, w.Patch(t.Context(), configuration, client.RawPatch("application/json-patch+json", []byte(bundle))))
	h.answers(w)
}
