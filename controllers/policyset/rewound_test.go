// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestHistoryThatGoesBackEndsTheProcess restores the store of the API server to an earlier state. If a watch or a live read has
// shown a later state, no deletion is allowed any more, because older versions would never replace the newer ones.
func TestHistoryThatGoesBackEndsTheProcess(t *testing.T) {
	tests := map[string]func(l *harness){
		"a policy was edited, seen in a live read": func(l *harness) {
			l.policy("p", spec("Enforce", "1s"))
			l.allowed("team-b")
		},
		"a policy was edited, seen by the watch": func(l *harness) {
			l.become(spec("Enforce", "1s"))
		},
		"the status of a policy was written, seen by the watch": func(l *harness) {
			l.edit("p", func(*unstructured.Unstructured) {})
			l.refresh()
		},
		"a hold was removed, seen by the watch": func(l *harness) {
			l.unhold()
		},
		"a hold was removed, seen in a live read": func(l *harness) {
			l.hold("team-a", "")
			l.allowed("team-a")
		},
	}
	for name, happens := range tests {
		t.Run(name, func(t *testing.T) {
			l := holding(t, spec("Enforce", "1h"))
			l.goesBack(func() { happens(l) })
			l.later(2 * time.Second)
			l.startsOver("team-a")
		})
	}
}

func TestHistoryThatGoesBackShowsInAListOfNamespaces(t *testing.T) {
	l := holding(t, spec("Enforce", "1h"))
	l.fillOneByOne()
	l.goesBack(func() {
		l.unhold()
	})
	l.startsOver("team-a")
}

// goesBack runs happens and then restores the server to its state before that.
func (l *harness) goesBack(happens func()) {
	before, version := l.live.clone(), l.version
	happens()
	l.live, l.version = before, version
}

func (l *harness) startsOver(namespace string) {
	l.t.Helper()
	if _, err := l.check(namespace); err == nil || !strings.Contains(err.Error(), "resourceVersions of the API server went back") {
		l.t.Errorf("error %v", err)
	}
}
