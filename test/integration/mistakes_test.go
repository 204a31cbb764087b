// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/mistakes"
)

// mostSkipped is how many mistakes may stay uncompared, because the webhook does not receive them.
const mostSkipped = 25

// mistakesHaveTheSameMessageEverywhere: for each mistake the webhook on a real API server returns the same message as kubectl
// sunset validate for the file.
func mistakesHaveTheSameMessageEverywhere(t *testing.T) {
	w := newEnv(t)
	l := w.listen()
	all, err := mistakes.All()
	expect.NoError(t, err)
	skipped := 0
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			skips := func(why ...any) {
				t.Helper()
				skipped++
				t.Skip(why...)
			}
			if m.InFile {
				skips("only the file contains the mistake")
			}
			object := &unstructured.Unstructured{}
			if yaml.UnmarshalStrict([]byte(m.Wrong), &object.Object) != nil {
				skips("clients cannot parse the file and send nothing")
			}
			object.SetName(w.namespace + "-mistake")
			var err error
			var told string
			cluster.Eventually(t, patience, func() error {
				err = l.Create(t.Context(), object.DeepCopy(), client.DryRunAll)
				told = l.take()
				if strings.Contains(told, "not all checks for warnings ended") { // this machine is busy
					return errors.New(told)
				}
				return nil
			})
			if err != nil {
				told += err.Error()
			}
			switch {
			case apierrors.IsBadRequest(err) || meta.IsNoMatchError(err):
				skips("the API server refuses it: ", err)
			case err != nil && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
				t.Fatal(err)
			}
			for _, p := range validated(t, m.Wrong) {
				text := p.text()
				if err != nil && !strings.Contains(err.Error(), "admission webhook") {
					text = p.parent() // the API server checks the schema of the CustomResourceDefinition first, with its own messages
				}
				if !strings.Contains(told, text) {
					t.Errorf("kubectl sunset validate:\n%s\nAPI server:\n%s", text, told)
				}
			}
		})
	}
	if skipped > mostSkipped {
		t.Errorf("%d of %d mistakes were skipped, want at most %d", skipped, len(all), mostSkipped)
	}
}

// problem is one problem in the output of kubectl sunset validate.
type problem struct {
	Path, Message, Hint string
	Line, Column        int
}

func (p problem) text() string {
	text := p.Path
	if p.Line > 0 {
		text += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	text += ": " + p.Message
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// parent is the path of the object that contains the field.
func (p problem) parent() string { return p.Path[:strings.LastIndex(p.Path, ".")] }

// validated returns the problems that kubectl sunset validate reports for a file.
func validated(t *testing.T, file string) []problem {
	t.Helper()
	var out, trouble bytes.Buffer
	command.Run(t.Context(), []string{"validate", "-f", "-", "-o", "json"},
		genericiooptions.IOStreams{In: strings.NewReader(file), Out: &out, ErrOut: &trouble}, time.Now())
	var result struct{ Problems, Warnings []problem }
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), trouble.String())
	}
	all := append(result.Problems, result.Warnings...)
	if len(all) == 0 {
		t.Error("no problem is reported")
	}
	return all
}
