// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// storage reads and writes objects in etcd, in the form in which the API server stores them, because a million requests to the API
// server take long.
type storage struct {
	url   string // of etcd's HTTP gateway
	codec runtime.Serializer
	uids  atomic.Int64
}

func newStorage(url string) *storage {
	return &storage{url: url, codec: protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme)}
}

// pair is a key with its value in JSON of etcd's gateway, which encodes both as base64.
type pair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

// request sends a request to etcd.
func (s *storage) request(ctx context.Context, path string, body, response any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if data, err = io.ReadAll(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s with %s: %s", path, answer.Status, data)
	}
	return json.Unmarshal(data, response)
}

// read reads the object that the API server has stored under a key.
func (s *storage) read(ctx context.Context, key string) (runtime.Object, error) {
	var found struct {
		Kvs []pair `json:"kvs"`
	}
	if err := s.request(ctx, "/v3/kv/range", pair{Key: []byte(key)}, &found); err != nil {
		return nil, err
	}
	if len(found.Kvs) != 1 {
		return nil, fmt.Errorf("etcd has %d objects at %s", len(found.Kvs), key)
	}
	object, _, err := s.codec.Decode(found.Kvs[0].Value, nil, nil)
	return object, err
}

// manyAtOnce is how many objects one transaction may write; etcd allows 128.
const manyAtOnce = 100

// copies writes n copies of an object, atOnce in each transaction. change returns the key of copy i, and changes it. The API server never
// writes two objects with the same revision, so if atOnce is not 1, a list or watch that begins before the end may lack some.
func (s *storage) copies(ctx context.Context, of runtime.Object, n, atOnce int, change func(i int, copied runtime.Object) (key string)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for first := 0; first < n; first += atOnce {
		group.Go(func() error {
			var puts []map[string]pair
			for i := first; i < min(first+atOnce, n); i++ {
				copied := of.DeepCopyObject()
				key := change(i, copied)
				var value bytes.Buffer
				if err := s.codec.Encode(copied, &value); err != nil {
					return err
				}
				puts = append(puts, map[string]pair{"requestPut": {Key: []byte(key), Value: value.Bytes()}})
			}
			return s.request(ctx, "/v3/kv/txn", map[string]any{"success": puts}, &struct{}{})
		})
	}
	return group.Wait()
}

// rename gives a copy its own name, namespace and UID.
func (s *storage) rename(o metav1.Object, namespace, name string) {
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids.Add(1))))
}

// copyOfJob renames a copy of a Job, also in the labels and the selector that name it.
func (s *storage) copyOfJob(job *batchv1.Job, namespace, name string, labels map[string]string) (key string) {
	before := job.ObjectMeta
	s.rename(job, namespace, name)
	for _, names := range []map[string]string{job.Labels, job.Spec.Selector.MatchLabels, job.Spec.Template.Labels} {
		for label, value := range names {
			switch value {
			case string(before.UID):
				names[label] = string(job.UID)
			case before.Name:
				names[label] = name
			}
		}
	}
	maps.Copy(job.Labels, labels)
	return "/registry/jobs/" + namespace + "/" + name
}

// copyOfPod renames a copy of a Pod.
func (s *storage) copyOfPod(pod *corev1.Pod, namespace, name string) (key string) {
	s.rename(pod, namespace, name)
	return "/registry/pods/" + namespace + "/" + name
}

// seed is one Job to copy.
var seed = batch{namespace: "seed", prefix: "job", count: 1, finished: anHourAgo}

// storeSeed creates the seed and the namespaces of its copies with the API server, and returns what the API server has stored.
func (l *environment) storeSeed(ctx context.Context) (runtime.Object, error) {
	if err := l.create(ctx, seed); err != nil {
		return nil, err
	}
	if err := together(ctx, l.size.namespaces, func(ctx context.Context, i int) error { return ensureNamespace(ctx, l.client, l.team(i)) }); err != nil {
		return nil, err
	}
	return l.storage.read(ctx, "/registry/jobs/seed/"+seed.name(0))
}

// storeMillion creates one Job and one Pod with the API server, and writes copies of what it has stored.
func (l *environment) storeMillion(ctx context.Context) error {
	s := l.storage
	storedJob, err := l.storeSeed(ctx)
	if err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: seed.job(0).Spec.Template.Spec}
	pod.Namespace = "seed"
	if pod, err = l.createPod(ctx, pod); err != nil {
		return err
	}
	if err := l.succeed(ctx, pod); err != nil {
		return err
	}
	storedPod, err := s.read(ctx, "/registry/pods/seed/"+pod.Name)
	if err != nil {
		return err
	}
	for _, lot := range []struct {
		name   string
		n      int
		labels map[string]string
	}{{"job", l.size.million - l.size.millionDue, nil}, {"due", l.size.millionDue, map[string]string{"lot": "drain"}}} {
		if err := s.copies(ctx, storedJob, lot.n, manyAtOnce, func(i int, copied runtime.Object) string {
			return s.copyOfJob(copied.(*batchv1.Job), l.team(i), storedName(lot.name, i), lot.labels)
		}); err != nil {
			return err
		}
	}
	return s.copies(ctx, storedPod, l.size.millionPods, manyAtOnce, func(i int, copied runtime.Object) string {
		return s.copyOfPod(copied.(*corev1.Pod), l.team(i), storedName("pod", i))
	})
}

// team is the namespace of the i-th stored object.
func (l *environment) team(i int) string { return fmt.Sprintf("team-%04d", i%l.size.namespaces) }

func storedName(prefix string, i int) string { return fmt.Sprintf("%s-%07d", prefix, i) }

// succeed marks a Pod as finished an hour ago.
func (l *environment) succeed(ctx context.Context, pod *corev1.Pod) error {
	at := metav1.NewTime(anHourAgo(0))
	pod.Status.Phase = corev1.PodSucceeded
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: at}},
		})
	}
	_, err := l.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
