// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

const deletion = `{"kind":"Event","auditID":"1","stage":"ResponseComplete","verb":"delete","requestURI":"/api/v1/namespaces/a/configmaps/x?dryRun=All",` +
	`"user":{"username":"sunset-1"},"objectRef":{"resource":"configmaps","namespace":"a","name":"x","apiVersion":"v1"},"responseStatus":{"code":200},` +
	`"requestObject":{"preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Background"},"responseObject":{"kind":"Status","details":{"uid":"u"}},` +
	`"requestReceivedTimestamp":"2026-03-01T12:00:00.000001Z","stageTimestamp":"2026-03-01T12:00:01.000000Z"}`

const creation = `{"kind":"Event","auditID":"2","stage":"ResponseComplete","verb":"create","objectRef":{"resource":"configmaps","namespace":"a"},` +
	`"responseStatus":{"code":201},"responseObject":{"metadata":{"name":"made","resourceVersion":"9"}},"requestReceivedTimestamp":"2026-03-01T11:00:00.000000Z"}`

func audit(t *testing.T, text string) ([]history.Request, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return new(history.Audit).Read(path)
}

func TestAudit(t *testing.T) {
	requests, err := audit(t, deletion+"\n"+creation+"\n")
	if err != nil || len(requests) != 2 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	made, gone := requests[0], requests[1] // in order of arrival
	if made.Name != "made" || made.AnsweredVersion() != "9" || made.Unsure() {
		t.Errorf("%+v", made)
	}
	uid, version := gone.Preconditions()
	if uid != "u" || version != "7" || gone.AnsweredUID() != "u" || *gone.Options.PropagationPolicy != "Background" || len(gone.Options.DryRun) != 1 {
		t.Errorf("%+v", gone)
	}
	if got := gone.Answered.Sub(gone.Received).Microseconds(); got != 999_999 {
		t.Errorf("the request took %d microseconds", got)
	}
}

func TestTornLineIsPassedOver(t *testing.T) {
	for name, text := range map[string]string{
		"at the end":    creation + "\n" + deletion[:90],
		"before others": deletion[:90] + creation + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			requests, err := audit(t, text)
			if err != nil || len(requests) != 1 || requests[0].ID != "2" {
				t.Errorf("%v, %v", requests, err)
			}
		})
	}
}

func TestUnreadableLineIsAnError(t *testing.T) {
	_, err := audit(t, creation+"\nnothing\n"+deletion+"\n")
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}

// TestAuditReadsEachLineOnce, and what is written later, also in the middle of a line.
func TestAuditReadsEachLineOnce(t *testing.T) {
	path, a := filepath.Join(t.TempDir(), "audit.log"), &history.Audit{}
	file, err := os.Create(path)
	expect.NoError(t, err)
	defer func() { _ = file.Close() }()
	for i, text := range []string{creation + "\n" + deletion[:90], deletion[90:], "\n", "nothing\n"} {
		_, err := file.WriteString(text)
		expect.NoError(t, err)
		requests, err := a.Read(path)
		switch want := []int{1, 1, 2}; {
		case i == 3:
			if err == nil || !strings.Contains(err.Error(), "line 3") {
				t.Errorf("%v", err)
			}
		case err != nil || len(requests) != want[i]:
			t.Errorf("after part %d: %d requests, %v", i, len(requests), err)
		}
	}
}
