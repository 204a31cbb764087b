// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// addLogs reads the logs of the Pods of items, and stops when the memory for them is used up. failed has the items without a log that the
// settings require.
func (w *worker) addLogs(ctx context.Context, settings *policy.ArchiveLogs, l *lease, items []*item) (failed map[*item]error, err error) {
	failed = map[*item]error{}
	var mu sync.Mutex
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(requestsMost)
	for _, i := range items {
		containers, err := containersOf(i)
		if err = cmp.Or(err, w.lostLog(settings, i, containers)); err != nil {
			mu.Lock()
			failed[i] = err
			mu.Unlock()
		}
		for _, c := range containers {
			group.Go(func() error {
				if limited.Err() != nil {
					return limited.Err()
				}
				text, missing, err := w.log(limited, settings, l, i, c)
				mu.Lock()
				defer mu.Unlock()
				i.logs = append(i.logs, text)
				if missing != nil && settings.Required {
					failed[i] = fmt.Errorf("log of container %s of Pod %s, which archive.logs.required requires: %w", c.name, c.pod, missing)
					w.noteLost(i, c.pod, failed[i])
				}
				return err
			})
		}
	}
	err = group.Wait()
	for _, i := range items {
		slices.SortFunc(i.logs, func(a, b archive.Log) int { // they came in any order
			return cmp.Or(strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
		})
	}
	return failed, err
}

// noteLost notes that the Pod of a required log no longer exists.
func (w *worker) noteLost(i *item, pod string, err error) {
	if apierrors.IsNotFound(err) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.history.lost(i.request.target.UID, pod, err, w.manager.Clock.Now())
	}
}

// lostLog returns why a log is missing that was required when its Pod was last listed, if the Pod no longer is.
func (w *worker) lostLog(settings *policy.ArchiveLogs, i *item, containers []container) error {
	w.mu.Lock()
	failed := w.history.failures(i.request.target.UID)
	w.mu.Unlock()
	if !settings.Required || slices.ContainsFunc(containers, func(c container) bool { return c.pod == failed.logOf }) {
		return nil
	}
	return failed.lostErr
}

// log reads the log of a container. missing says why there is none although the container may have run. The error is errOverflow or
// errTooLarge.
func (w *worker) log(ctx context.Context, settings *policy.ArchiveLogs, l *lease, i *item, c container) (read archive.Log, missing, err error) {
	read = archive.Log{Pod: c.pod, Container: c.name}
	if !c.started {
		read.Missing = "the container has not started"
		return read, nil, nil
	}
	text, truncated, err := w.tail(ctx, l, i, c, settings.TailBytes)
	switch {
	case errors.Is(err, errOverflow), errors.Is(err, errTooLarge):
		return read, nil, err
	case err != nil:
		read.Missing = policy.Shorten(err.Error(), 512)
		return read, err, nil
	}
	read.Text, read.Truncated = strings.ToValidUTF8(string(text), "\uFFFD"), truncated
	return read, nil, nil
}

// container is a container of a Pod.
type container struct {
	namespace, pod, name string
	started              bool // or it is not known
}

// containersOf returns the containers of the Pods among an item and its dependents.
func containersOf(i *item) (all []container, err error) {
	if t := i.request.target; t.Kind.GroupKind() == podKind {
		all, err = appendContainers(all, t.Namespace, t.Name, i.object)
	}
	for _, d := range i.dependents {
		if err == nil && d.kind.GroupKind() == podKind {
			all, err = appendContainers(all, d.namespace, d.name, d.data)
		}
	}
	return all, err
}

// containerFields has the name of a container, and in the status of a Pod also the fields that say whether the container has started.
type containerFields struct {
	Name  string         `json:"name"`
	State containerState `json:"state"`
	Last  containerState `json:"lastState"`
}

type containerState struct {
	Running    *struct{} `json:"running"`
	Terminated *struct{} `json:"terminated"`
}

func (s containerState) started() bool { return s.Running != nil || s.Terminated != nil }

// appendContainers appends the containers of a Pod. One without a status may have run, except in a Pod that is Pending: the kubelet
// does not know it yet.
func appendContainers(all []container, namespace, name string, pod []byte) ([]container, error) {
	fields := struct {
		Spec struct {
			Init      []containerFields `json:"initContainers"`
			Main      []containerFields `json:"containers"`
			Ephemeral []containerFields `json:"ephemeralContainers"`
		} `json:"spec"`
		Status struct {
			Phase     corev1.PodPhase   `json:"phase"`
			Init      []containerFields `json:"initContainerStatuses"`
			Main      []containerFields `json:"containerStatuses"`
			Ephemeral []containerFields `json:"ephemeralContainerStatuses"`
		} `json:"status"`
	}{}
	if err := decode(pod, &fields); err != nil {
		return all, fmt.Errorf("decode Pod %s: %w", name, err)
	}
	started := map[string]bool{}
	for _, s := range slices.Concat(fields.Status.Init, fields.Status.Main, fields.Status.Ephemeral) {
		started[s.Name] = s.State.started() || s.Last.started()
	}
	for _, c := range slices.Concat(fields.Spec.Init, fields.Spec.Main, fields.Spec.Ephemeral) {
		has, known := started[c.Name]
		all = append(all, container{namespace: namespace, pod: name, name: c.Name, started: has || !known && fields.Status.Phase != corev1.PodPending})
	}
	return all, nil
}
