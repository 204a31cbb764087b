// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// addLogs reads the logs of the Pods of items. failed has the items without a log that the settings require.
func (w *worker) addLogs(ctx context.Context, settings *policy.ArchiveLogs, items []*item) (failed map[*item]error, err error) {
	failed = map[*item]error{}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
	)
	for _, i := range items {
		pods, invalid := podsOf(i)
		if invalid != nil {
			mu.Lock()
			failed[i] = invalid
			mu.Unlock()
		}
		for _, pod := range pods {
			for _, c := range pod.containers {
				group.Go(func() {
					l, missing := w.log(ctx, settings, pod, c)
					full := w.extend(i, len(l.Text))
					mu.Lock()
					defer mu.Unlock()
					err = cmp.Or(err, full)
					i.logs = append(i.logs, l)
					if missing != nil && settings.Required {
						failed[i] = fmt.Errorf("log of container %s of Pod %s, which archive.logs.required requires: %w", c.name, pod.name, missing)
					}
				})
			}
		}
	}
	group.Wait()
	for _, i := range items {
		slices.SortFunc(i.logs, func(a, b archive.Log) int { // they came in any order
			return cmp.Or(strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
		})
	}
	return failed, err
}

// log reads the log of a container. missing says why there is none although the container has run.
func (w *worker) log(ctx context.Context, settings *policy.ArchiveLogs, pod podContainers, c container) (l archive.Log, missing error) {
	l = archive.Log{Pod: pod.name, Container: c.name}
	if !c.started {
		l.Missing = "the container has not started"
		return l, nil
	}
	text, truncated, err := w.tail(ctx, pod.namespace, pod.name, c.name, settings.TailBytes)
	if err != nil {
		l.Missing = policy.Shorten(err.Error(), 512)
		return l, err
	}
	l.Text, l.Truncated = strings.ToValidUTF8(string(text), "\uFFFD"), truncated
	return l, nil
}

// podContainers are the containers of a Pod.
type podContainers struct {
	namespace, name string
	containers      []container
}

type container struct {
	name    string
	started bool
}

// podsOf returns the containers of the Pods among an item and its dependents.
func podsOf(i *item) (all []podContainers, err error) {
	if t := i.request.target; t.Kind.GroupKind() == podKind {
		all = append(all, podContainers{namespace: t.Namespace, name: t.Name})
		if err := all[0].read(i.object); err != nil {
			return nil, err
		}
	}
	for _, d := range i.dependents {
		if d.kind.GroupKind() != podKind {
			continue
		}
		p := podContainers{namespace: d.namespace, name: d.name}
		if err := p.read(d.data); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// containerStatus has the fields of a ContainerStatus that say whether the container has started.
type containerStatus struct {
	Name  string         `json:"name"`
	State containerState `json:"state"`
	Last  containerState `json:"lastState"`
}

type containerState struct {
	Running    *struct{} `json:"running"`
	Terminated *struct{} `json:"terminated"`
}

func (s containerState) started() bool { return s.Running != nil || s.Terminated != nil }

// read reads the containers of a Pod from its status. The Pod has not started if that has none.
func (p *podContainers) read(pod []byte) error {
	fields := struct {
		Status struct {
			Init      []containerStatus `json:"initContainerStatuses"`
			Main      []containerStatus `json:"containerStatuses"`
			Ephemeral []containerStatus `json:"ephemeralContainerStatuses"`
		} `json:"status"`
	}{}
	if err := decode(pod, &fields); err != nil {
		return fmt.Errorf("decode Pod %s: %w", p.name, err)
	}
	for _, s := range slices.Concat(fields.Status.Init, fields.Status.Main, fields.Status.Ephemeral) {
		p.containers = append(p.containers, container{name: s.Name, started: s.State.started() || s.Last.started()})
	}
	return nil
}
