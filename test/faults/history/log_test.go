// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

const key = "/registry/configmaps/a/x"

func object(uid, more string) []byte {
	return fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"a","name":"x","uid":%q%s}}`, uid, more)
}

// lived returns the history of an object that was created, changed, terminated, removed and created again.
func lived(t *testing.T) *history.Log {
	t.Helper()
	l := history.NewLog()
	for revision, value := range map[int64][]byte{2: object("u", "")} {
		expect.NoError(t, l.Put(revision, key, value))
	}
	expect.NoError(t, l.Put(4, key, object("u", `,"labels":{"a":"b"}`)))
	expect.NoError(t, l.Put(5, key, object("u", `,"deletionTimestamp":"2026-03-01T12:00:00Z"`)))
	expect.NoError(t, l.Remove(7, key))
	expect.NoError(t, l.Put(8, key, object("v", "")))
	return l
}

func TestStates(t *testing.T) {
	l := lived(t)
	for revision, want := range map[int64]int64{1: 0, 2: 2, 3: 2, 4: 4, 6: 5, 7: 0, 9: 8} {
		got := int64(0)
		if s := l.At(key, revision); s != nil {
			got = s.Revision
		}
		if got != want {
			t.Errorf("the state at revision %d is of revision %d, want %d", revision, got, want)
		}
	}
	if l.Key("configmaps", "a", "x") != key || l.KeyOf("u") != key || l.Revision != 8 {
		t.Errorf("key %q and %q, revision %d", l.Key("configmaps", "a", "x"), l.KeyOf("u"), l.Revision)
	}
	if s := l.Version("u", "4"); s == nil || s.GetLabels()["a"] != "b" || l.Version("v", "4") != nil || l.Version("u", "3") != nil {
		t.Errorf("version 4 of u is %v", s)
	}
	kind := schema.GroupKind{Kind: "ConfigMap"}
	if len(l.Kind(kind, 6)) != 1 || len(l.Kind(kind, 7)) != 0 || len(l.Between(kind, 2, 5)) != 2 {
		t.Error("wrong objects of a kind")
	}
}

func TestObjectEndsOnce(t *testing.T) {
	l := lived(t)
	end, ended := l.End("u")
	if !ended || end.Revision != 5 || end.Before.Revision != 4 || end.Gone() {
		t.Errorf("%v, %+v", ended, end)
	}
	if _, ended := l.End("v"); ended || len(l.Ends()) != 1 {
		t.Errorf("v ended: %v; %d ends", ended, len(l.Ends()))
	}
}

// TestObjectWithoutUIDEndsNoOther: some objects have no UID, such as the addresses of API servers, which end if a server
// cannot renew them in time.
func TestObjectWithoutUIDEndsNoOther(t *testing.T) {
	l := lived(t)
	const address = "/registry/masterleases/127.0.0.1"
	expect.NoError(t, l.Put(9, address, []byte(`{"kind":"Endpoints","apiVersion":"v1","metadata":{}}`)))
	expect.NoError(t, l.Remove(10, address))
	if _, ended := l.End(""); ended || l.KeyOf("") != "" || len(l.Ends()) != 2 {
		t.Errorf("ended %v, key %q, %d ends", ended, l.KeyOf(""), len(l.Ends()))
	}
	deletion := history.Request{Verb: "delete", Code: 200, Received: time.Unix(1, 0), Answered: time.Unix(2, 0)}
	if at, known := history.NewTimeline([]history.Request{deletion}, l).Latest(10); known {
		t.Errorf("a DELETE without an object has an end at %s", at)
	}
}

func TestProtobufIsAnError(t *testing.T) {
	err := history.NewLog().Put(2, key, []byte("k8s\x00..."))
	if err == nil || !strings.Contains(err.Error(), "--storage-media-type=application/json") {
		t.Errorf("%v", err)
	}
}

func TestTimeline(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	write := func(revision, received, answered int) history.Request {
		return history.Request{Verb: "patch", Code: 200, Received: at(received), Answered: at(answered),
			Answer: fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d"}}`, revision)}
	}
	l := lived(t)
	uid, version := types.UID("u"), "4"
	deletion := history.Request{Verb: "delete", Code: 200, Received: at(13), Answered: at(16),
		Options: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}}
	update := history.Request{Verb: "update", Code: 200, Received: at(17), Answered: at(18), Body: []byte(`{"metadata":{"resourceVersion":"8"}}`),
		Answer: []byte(`{"metadata":{"resourceVersion":"8"}}`)} // the update changed nothing
	rehearsed, later := deletion, write(6, 1, 2)
	rehearsed.Received, rehearsed.Answered, rehearsed.Options.DryRun = at(1), at(2), []string{"All"}
	later.URI = "/api/v1/namespaces/a/configmaps/x?dryRun=All"
	// Two requests are dry runs. The second write also answers with 4, because it changed nothing. The deletion created
	// revision 5. The request for revision 6 was answered late.
	times := history.NewTimeline([]history.Request{rehearsed, later, write(4, 10, 12), write(4, 20, 21), deletion, write(6, 13, 30), update, write(8, 14, 18), write(7, 40, 41)}, l)
	for revision, want := range map[int64][2]int{3: {-1, 12}, 4: {10, 12}, 5: {13, 16}, 6: {13, 18}, 7: {13, 18}, 8: {14, 18}} {
		latest, _ := times.Latest(revision)
		if e := times.Earliest(revision); want[0] >= 0 && !e.Equal(at(want[0])) || want[0] < 0 && !e.IsZero() || !latest.Equal(at(want[1])) {
			t.Errorf("revision %d was between %s and %s, want %v", revision, e, latest, want)
		}
	}
	if _, known := times.Latest(9); known {
		t.Error("revision 9 has a time")
	}
	if times.Passed(at(13)) != 4 || times.Passed(at(11)) != 0 {
		t.Errorf("passed revisions are %d and %d", times.Passed(at(13)), times.Passed(at(11)))
	}
}
