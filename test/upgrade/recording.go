// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// Recording is what one version wrote.
type Recording struct {
	Name string    `json:"-"`
	Dir  string    `json:"-"`
	At   time.Time `json:"at"`  // time of the recording
	How  string    `json:"how"` // how it was made

	Objects []*unstructured.Unstructured `json:"-"` // as the API server returned them, without managedFields
}

// The files of a recording.
const (
	AboutFile   = "recording.yaml"
	ObjectsFile = "objects.yaml"
	CRDsFile    = "crds.yaml" // without descriptions
	StateDir    = "state"     // of the node agent; absent if the version has none
)

// Node is the name of the node of the recorded agent.
const Node = "node-1"

// Dir is the directory of the recordings.
func Dir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "testdata")
}

// All reads every recording.
func All() ([]*Recording, error) {
	entries, err := os.ReadDir(Dir())
	var all []*Recording
	for _, e := range entries {
		r, err := Read(e.Name())
		if err != nil {
			return nil, fmt.Errorf("recording %s: %w", e.Name(), err)
		}
		all = append(all, r)
	}
	return all, err
}

// Read reads a recording.
func Read(name string) (*Recording, error) {
	r := &Recording{Name: name, Dir: filepath.Join(Dir(), name)}
	about, err := os.ReadFile(filepath.Join(r.Dir, AboutFile))
	if err != nil {
		return nil, err
	}
	if err := sigsyaml.UnmarshalStrict(about, r); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(r.Dir, ObjectsFile))
	if err != nil {
		return nil, err
	}
	r.Objects, err = objects(text)
	return r, err
}

func objects(text []byte) (all []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		switch err := decoder.Decode(u); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, u)
	}
}

// Of returns the objects of a kind.
func (r *Recording) Of(kind schema.GroupVersionKind) (of []*unstructured.Unstructured) {
	for _, u := range r.Objects {
		if u.GroupVersionKind() == kind {
			of = append(of, u)
		}
	}
	return of
}

// HasAgent reports whether the recording includes a node agent.
func (r *Recording) HasAgent() bool {
	_, err := os.Stat(filepath.Join(r.Dir, StateDir))
	return err == nil
}

// instant matches a time in all recorded formats.
var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// Later returns a text with all times in it shifted by this duration, in their original format.
func Later(text []byte, by time.Duration) []byte {
	return instant.ReplaceAllFunc(text, func(match []byte) []byte {
		t, err := time.Parse(time.RFC3339Nano, string(match))
		if err != nil {
			return match
		}
		layout := "2006-01-02T15:04:05"
		if dot := bytes.IndexByte(match, '.'); dot >= 0 {
			layout += "." + string(bytes.Repeat([]byte("0"), len(match)-dot-2))
		}
		return []byte(t.Add(by).UTC().Format(layout + "Z"))
	})
}
