// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// ConfigMaps that Pods use are spread over several namespaces; unused ones have their own namespace.
const (
	referredNamespaces = 100
	spareNamespace     = "referred-spare"
)

func referredIn(i int) string   { return fmt.Sprintf("referred-%02d", i%referredNamespaces) }
func referredName(i int) string { return fmt.Sprintf("site-%05d", i) }
func spareName(i int) string    { return fmt.Sprintf("spare-%04d", i) }

// populate creates the ConfigMaps, and the Pods that refer to all of them except the spare ones.
func (l *environment) populate(ctx context.Context) error {
	if err := ensureNamespace(ctx, l.client, spareNamespace); err != nil {
		return err
	}
	for i := range referredNamespaces {
		if err := ensureNamespace(ctx, l.client, referredIn(i)); err != nil {
			return err
		}
	}
	if err := together(ctx, l.size.spares, func(ctx context.Context, i int) error {
		return l.createConfigMap(ctx, spareNamespace, spareName(i), nil)
	}); err != nil {
		return err
	}
	if err := together(ctx, l.size.referred, func(ctx context.Context, i int) error {
		return l.createConfigMap(ctx, referredIn(i), referredName(i), nil)
	}); err != nil {
		return err
	}
	return together(ctx, l.size.referring, func(ctx context.Context, i int) error {
		of := i % l.size.referred
		_, err := l.createPod(ctx, referringPod(referredIn(of), fmt.Sprintf("web-%05d", i), referredName(of)))
		return err
	})
}

// together calls do n times, with many concurrent calls.
func together(ctx context.Context, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

func (l *environment) createConfigMap(ctx context.Context, namespace, name string, annotations map[string]string) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "shop"}, Annotations: annotations},
		Data:       map[string]string{"url": "https://" + name + ".example.com"},
	}
	_, err := l.client.CoreV1().ConfigMaps(namespace).Create(ctx, cm, metav1.CreateOptions{})
	return err
}

func (l *environment) createPod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return l.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// referringPod is a Pod without a node. It refers to its own ConfigMap, to one that all Pods share, and to that of the CA.
func referringPod(namespace, name, configMap string) *corev1.Pod {
	volume := func(name, of string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: of}}}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"app": "shop", "team": "data", "app.kubernetes.io/part-of": "shop"},
		},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{volume("site", configMap), volume("ca", "kube-root-ca.crt")},
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/shop/web:1.14.2", Args: []string{"--serve"},
				Env: []corev1.EnvVar{{Name: "REGION", Value: "eu-central-1"}},
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "shop-flags"}}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "site", MountPath: "/srv"}, {Name: "ca", MountPath: "/ca"}},
			}},
		},
	}
}

// readsOfPods measures the cost of one Pod event for rules about references to ConfigMaps and Secrets.
func (l *environment) readsOfPods(ctx context.Context) error {
	asked := references.Asked{references.ConfigMap: policy.AsksReferences, references.Secret: policy.AsksReferences}
	return l.readPods(ctx, asked, "", 0, func(i int) *corev1.Pod {
		return referringPod(referredIn(i%l.size.referred), fmt.Sprintf("web-%05d", i), referredName(i%l.size.referred))
	})
}

// readPods measures the cost of one Pod event, without a server: decode it, extract its references and labels and add them to a
// large index, which also has Services that select the Pods.
func (l *environment) readPods(ctx context.Context, asked references.Asked, rules string, services int, podOf func(int) *corev1.Pod) error {
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		return err
	}
	evaluator := compiler.NewEvaluator(ctx)
	defer evaluator.Close()
	table, refused := extract.NewTable(compiler, nil, asked)
	if len(refused) > 0 {
		return refused[0].Err
	}
	index := references.New(clock.RealClock{})
	put := func(kind schema.GroupVersionKind) func([]byte) error {
		from, decoder := references.SourceID(kind.Kind), table.NewDecoder(kind)
		index.Expect(from, table.About(kind)...)
		return func(text []byte) error {
			object, err := decoder.Decode(text)
			if err != nil {
				return err
			}
			r := table.Read(evaluator, kind, object)
			index.Put(from, r)
			return r.Err
		}
	}
	putService, putPod := put(corev1.SchemeGroupVersion.WithKind("Service")), put(corev1.SchemeGroupVersion.WithKind("Pod"))
	for i := range services {
		service := serviceOf(referredIn(i), referredName(i))
		service.UID = uidOf("5e", i)
		if err := putText(putService, service); err != nil {
			return err
		}
	}
	texts := make([][]byte, l.size.referring)
	for i := range texts {
		pod := podOf(i)
		pod.UID, pod.ResourceVersion = uidOf("6f", i), fmt.Sprint(1000+i)
		if texts[i], err = json.Marshal(pod); err != nil {
			return err
		}
		if err := putPod(texts[i]); err != nil {
			return err
		}
	}
	result := testing.Benchmark(func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			expect.NoError(b, putPod(texts[i*7919%len(texts)]))
		}
	})
	took := float64(result.NsPerOp())
	l.table.add(fmt.Sprintf("a Pod event, decoded, extracted and added to an index of %d%s", l.size.referring, rules), fmt.Sprintf("%.1f us", took/1e3),
		fmt.Sprintf("%.0f/s on one core, without a server; %d allocations", 1e9/took, result.AllocsPerOp()))
	return nil
}

// putText passes an object as the API server sends it, without its managedFields.
func putText(put func([]byte) error, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return put(text)
}

func uidOf(prefix string, i int) types.UID {
	return types.UID(fmt.Sprintf("%s1d7a64-3c1e-4f0b-9a55-%012x", prefix, i))
}
