// SPDX-License-Identifier: Apache-2.0

package digests_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/digests"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var created = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// harness is the API server of a Notifier, and the receiver of its digests.
type harness struct {
	client.Client // not used
	*digests.Notifier
	t        *testing.T
	clock    *clocktesting.FakeClock
	receiver *httptest.Server
	created  time.Time // of the digests

	mu       sync.Mutex
	digests  []*unstructured.Unstructured
	policies []v1alpha1.ClusterRetentionPolicy
	secrets  map[string]string // "name/key" to value
	refused  error             // of writes of the status
	writes   int
	leads    error
	respond  func(w http.ResponseWriter, r *http.Request) // nil accepts
	requests []request
}

// request is a request that the receiver got.
type request struct {
	path, authorization, contentType string
	body                             map[string]any
}

func newHarness(t *testing.T) *harness {
	h := &harness{t: t, clock: clocktesting.NewFakeClock(created.Add(time.Minute)), created: created, secrets: map[string]string{}}
	h.receiver = httptest.NewTLSServer(http.HandlerFunc(h.receive))
	t.Cleanup(h.receiver.Close)
	h.restart()
	return h
}

// restart begins with a new process.
func (h *harness) restart() {
	h.Notifier = digests.New(digests.Options{
		Cache: h, Client: h, Live: h, State: h, Leadership: h, Clock: h.clock, Namespace: "sunset-system",
	})
	h.ConnectTo(h.receiver.Listener.Addr().String())
}

func (h *harness) receive(w http.ResponseWriter, r *http.Request) {
	got := request{path: r.URL.Path, authorization: r.Header.Get("Authorization"), contentType: r.Header.Get("Content-Type")}
	if err := json.NewDecoder(r.Body).Decode(&got.body); err != nil {
		h.t.Errorf("body: %v", err)
	}
	h.mu.Lock()
	h.requests = append(h.requests, got)
	respond := h.respond
	h.mu.Unlock()
	if respond != nil {
		respond(w, r)
	}
}

// received returns the requests so far.
func (h *harness) received() []request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]request(nil), h.requests...)
}

// add adds a digest, every hour to the receiver.
func (h *harness) add(name string, edit ...func(*v1alpha1.DigestSpec)) {
	d := &v1alpha1.RetentionDigest{Spec: v1alpha1.DigestSpec{Schedule: "@hourly", Webhook: &v1alpha1.DigestWebhook{
		URL: "https://example.com/" + name, // the name in the certificate of httptest
	}}}
	if h.receiver != nil {
		d.Spec.Webhook.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.receiver.Certificate().Raw})
	}
	d.APIVersion, d.Kind = v1alpha1.RetentionDigestKind.ToAPIVersionAndKind()
	d.Name, d.UID, d.Generation, d.CreationTimestamp = name, types.UID("uid-"+name), 1, metav1.Time{Time: h.created}
	for _, e := range edit {
		e(&d.Spec)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	expect.NoError(h.t, err)
	h.digests = append(h.digests, &unstructured.Unstructured{Object: object})
}

// addPolicy adds a policy with a ledger.
func (h *harness) addPolicy(name string, deleted int64) {
	p := v1alpha1.ClusterRetentionPolicy{}
	p.Name, p.UID, p.CreationTimestamp, p.Spec.Mode = name, types.UID("uid-"+name), metav1.Time{Time: created.Add(-time.Hour)}, v1alpha1.Enforce
	p.Status.Due.Day = 1
	p.Status.Deleted = deleted
	p.Status.Ledger = &v1alpha1.LedgerStatus{Name: "l", LedgerCount: v1alpha1.LedgerCount{Deleted: deleted}}
	h.policies = append(h.policies, p)
}

// status returns the status of a digest.
func (h *harness) status(name string) v1alpha1.DigestStatus {
	h.t.Helper()
	for _, object := range h.digests {
		if object.GetName() == name {
			d := &v1alpha1.RetentionDigest{}
			expect.NoError(h.t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, d))
			return d.Status
		}
	}
	h.t.Fatalf("no digest %s", name)
	return v1alpha1.DigestStatus{}
}

// wantReady checks the condition Ready.
func (h *harness) wantReady(name, reason, message string) {
	h.t.Helper()
	c := meta.FindStatusCondition(h.status(name).Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != reason || !strings.Contains(c.Message, message) {
		h.t.Errorf("condition Ready of %s is %+v, want %s with %q", name, c, reason, message)
	}
}

// at sets the time and makes a tick.
func (h *harness) at(after time.Duration) {
	h.clock.SetTime(created.Add(after))
	h.Tick(h.t.Context())
}

// Check implements Options.Leadership.
func (h *harness) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leads
}

// Kinds implements digests.State.
func (h *harness) Kinds() []retention.KindState { return nil }

// List implements client.Reader.
func (h *harness) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch list := list.(type) {
	case *unstructured.UnstructuredList:
		for _, object := range h.digests {
			list.Items = append(list.Items, *object.DeepCopy())
		}
	case *v1alpha1.ClusterRetentionPolicyList:
		list.Items = append(list.Items[:0], h.policies...)
	}
	return nil
}

// Get implements client.Reader.
func (h *harness) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	secret, ok := into.(*corev1.Secret)
	if !ok || key.Namespace != "sunset-system" {
		return fmt.Errorf("unexpected read of %s", key)
	}
	secret.Data = map[string][]byte{}
	for name, value := range h.secrets {
		if of, valueKey, _ := strings.Cut(name, "/"); of == key.Name {
			secret.Data[valueKey] = []byte(value)
		}
	}
	if len(secret.Data) > 0 {
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
}

// Status implements client.Client.
func (h *harness) Status() client.SubResourceWriter { return statuses{harness: h} }

type statuses struct {
	client.SubResourceWriter
	harness *harness
}

// Patch implements client.SubResourceWriter for server-side apply.
func (s statuses) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	h := s.harness
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes++
	if h.refused != nil {
		return h.refused
	}
	data, err := patch.Data(object)
	if err != nil || patch.Type() != types.ApplyPatchType {
		h.t.Errorf("patch of type %s: %v", patch.Type(), err)
	}
	var applied struct{ Status map[string]any }
	if err := json.Unmarshal(data, &applied); err != nil {
		h.t.Error(err)
	}
	for _, known := range h.digests {
		if known.GetName() == object.GetName() {
			known.Object["status"] = applied.Status
		}
	}
	return nil
}
