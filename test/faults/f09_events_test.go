// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF09EventsAreLostRepeatedAndOutOfOrder edits the watch of ConfigMaps. The watch loses each deletion and one hold. It
// sends the events of another object in the wrong order, so that its hold seems to be removed. It sends all other events
// twice. Sunset must delete exactly the objects that are due.
func TestF09EventsAreLostRepeatedAndOutOfOrder(t *testing.T) {
	scenario.Short(t)
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("Enforce", "1h"))
	goes := configMaps(s, "goes", 5, preview)
	held, heldUnseen := s.ConfigMap("held", preview), s.ConfigMap("held-unseen", preview)
	relabelled, namesake := s.ConfigMap("relabelled", preview), s.ConfigMap("namesake", preview)
	ghost, bystander := s.ConfigMap("ghost", preview), s.ConfigMap("bystander", nil)
	r := s.Sunset(scenario.Start{})
	counted(s, p, 10)

	m := mangler{namespace: s.Namespace}
	lift := r.Proxy.Frames(proxy.Requests("watch", "configmaps"), m.change)
	s.ExpectThat("lost events", func() bool { return m.lost.Load() >= 3 })
	s.ExpectThat("events in the wrong order", func() bool { return m.late.Load() >= 1 })
	s.Remove(ghost)
	s.Hold(heldUnseen)
	s.Touch(held)
	s.Hold(held)
	for _, cm := range goes {
		s.Touch(cm)
	}
	s.Change(relabelled, func() { relabelled.Labels = nil })
	s.Remove(namesake)
	namesake = s.ConfigMap("namesake", nil)
	s.Edit(p, enforces)

	for _, cm := range goes {
		s.Gone(cm)
	}
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if status.Matched != 2 || status.Deleted != int64(len(goes)) || status.Due.Now != 0 {
			return errors.New("want 2 held objects left and 5 deleted")
		}
		return nil
	})
	s.Stays(time.Second, held, heldUnseen, relabelled, namesake, bystander)
	lift()
	s.Calm()
}

// mangler drops, reorders and duplicates the events of a watch.
type mangler struct {
	namespace  string // the events of other namespaces pass
	kept       []byte // sent after the next event of the same object
	lost, late atomic.Int64
}

func (m *mangler) change(event []byte) [][]byte {
	var e struct {
		Type   string
		Object struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	if err := json.Unmarshal(event, &e); err != nil || e.Object.Metadata.Namespace != m.namespace {
		return [][]byte{event}
	}
	switch name := e.Object.Metadata.Name; {
	case e.Type == "DELETED", name == "held-unseen":
		m.lost.Add(1)
		return nil
	case name == "held" && m.kept == nil:
		m.kept = event
		return nil
	case name == "held":
		m.late.Add(1)
		return [][]byte{event, m.kept}
	default:
		return [][]byte{event, event}
	}
}
