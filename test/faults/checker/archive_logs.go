// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// logOf names a log in a record: a record has no namespaces of Pods.
type logOf struct{ pod, container string }

// loggable is a container of an archived Pod.
type loggable struct {
	history.Container
	ran bool // its status says so
}

// logsWrong says which log of a record is missing, is not that of a container of its Pods, or is not the end of what the container has
// logged.
func (j *checker) logsWrong(m *making) string {
	want := map[logOf]loggable{}
	if m.rule.Archive.Logs != nil {
		for _, o := range append([]unstructured.Unstructured{m.Object}, m.Dependents...) {
			addContainers(want, o)
		}
	}
	for _, l := range m.Logs {
		of := logOf{l.Pod, l.Container}
		c, wanted := want[of]
		if !wanted {
			return fmt.Sprintf("has a log of container %s of Pod %s, twice or although it has no such Pod", l.Container, l.Pod)
		}
		delete(want, of)
		if why := j.logWrong(m, l, c); why != "" {
			return fmt.Sprintf("has a wrong log of container %s of Pod %s: %s", l.Container, l.Pod, why)
		}
	}
	for of := range want {
		return fmt.Sprintf("lacks the log of container %s of Pod %s", of.container, of.pod)
	}
	return ""
}

func (j *checker) logWrong(m *making, l history.ContainerLog, c loggable) string {
	settings := m.rule.Archive.Logs
	logged, known := j.Logs[c.Container]
	switch {
	case l.Missing != "" && settings.Required && c.ran:
		return "it is missing, and the rule requires it: " + l.Missing
	case known && !isEnd(l, logged, settings.TailBytes.Value()):
		return fmt.Sprintf("%.100q, %s, truncated: %t", l.Text, l.Missing, l.Truncated)
	}
	return ""
}

// isEnd reports whether a log in a record is the end of a text, and has at most so many bytes.
func isEnd(l history.ContainerLog, text string, most int64) bool {
	cut := max(0, int64(len(text))-most)
	return l.Missing == "" && l.Text == text[cut:] && l.Truncated == (cut > 0)
}

// addContainers adds the containers of an archived object, if it is a Pod.
func addContainers(all map[logOf]loggable, o unstructured.Unstructured) {
	if o.GroupVersionKind().GroupKind() != podKind {
		return
	}
	spec, status, ran := mapIn(o.Object, "spec"), mapIn(o.Object, "status"), map[any]bool{}
	for _, field := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		for _, s := range mapsIn(status, field) {
			state := mapIn(s, "state")
			ran[s["name"]] = state["running"] != nil || state["terminated"] != nil
		}
	}
	for _, field := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range mapsIn(spec, field) {
			name, _ := c["name"].(string)
			all[logOf{o.GetName(), name}] = loggable{history.Container{Namespace: o.GetNamespace(), Pod: o.GetName(), Name: name}, ran[name]}
		}
	}
}
