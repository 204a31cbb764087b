package policyset_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The API server's store is put back to an earlier state. Whatever it was that had been seen of the later one, by a watch or by
// a live read: nothing is allowed any more, as what the earlier state says would never count as news.
func TestHistoryThatGoesBackEndsTheProcess(t *testing.T) {
	tests := map[string]func(l *harness){
		"a policy was edited, as a live read has shown": func(l *harness) {
			l.policy("p", spec("Enforce", "1s"))
			l.allowed("team-b")
		},
		"a policy was edited, as the watch has shown": func(l *harness) {
			l.policy("p", spec("Enforce", "1s"))
			l.refresh()
		},
		"the status of a policy was written, as the watch has shown": func(l *harness) {
			l.edit("p", func(*unstructured.Unstructured) {})
			l.refresh()
		},
		"a namespace was let go of, as the watch has shown": func(l *harness) {
			l.hold("team-a", "")
			l.refresh()
		},
		"a namespace was let go of, as a live read has shown": func(l *harness) {
			l.hold("team-a", "")
			l.allowed("team-a")
		},
	}
	for name, happens := range tests {
		t.Run(name, func(t *testing.T) {
			l := holding(t)
			l.goesBack(func() { happens(l) })
			l.later(2 * time.Second)
			l.startsOver("team-a")
		})
	}
}

func TestHistoryThatGoesBackShowsInAListOfNamespaces(t *testing.T) {
	l := holding(t)
	l.fillOneByOne()
	l.goesBack(func() {
		l.hold("team-a", "")
		l.refresh()
	})
	l.startsOver("team-a")
}

// holding has a policy in force everywhere, and a hold on team-a.
func holding(t *testing.T) *harness {
	t.Helper()
	s := newServer()
	s.policy("p", spec("Enforce", "1h"))
	s.hold("team-a", "true")
	return newHarness(t, s)
}

// goesBack lets something happen and then puts the server back to where it was before.
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
