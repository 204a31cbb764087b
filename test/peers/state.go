// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// sharedNamespace is the namespace of most objects of the samples. Objects of several samples have the same name, so each sample gets
// its own.
const sharedNamespace = "shop"

// subject is an object that a sample decides about.
type subject struct{ kind, namespace, name string }

func (s subject) String() string {
	if s.namespace == "" {
		return s.kind + " " + s.name
	}
	return s.kind + " " + s.namespace + "/" + s.name
}

// state is the objects of several samples, and which of the subjects are unused.
type state struct {
	objects []*unstructured.Unstructured
	unused  map[subject]bool
}

// readState reads the samples in directories.
func readState(dirs ...string) (*state, error) {
	s := &state{unused: map[subject]bool{}}
	for _, dir := range dirs {
		if err := s.add(dir); err != nil {
			return nil, fmt.Errorf("read sample %s: %w", dir, err)
		}
	}
	return s, nil
}

func (s *state) add(dir string) error {
	var list struct{ Items []map[string]any }
	var want struct {
		Verdicts []struct{ Kind, Namespace, Name, Action string }
	}
	if err := readYAML(filepath.Join(dir, "objects.yaml"), &list); err != nil {
		return err
	}
	if err := readYAML(filepath.Join(dir, "want.yaml"), &want); err != nil {
		return err
	}
	own := sharedNamespace + "-" + filepath.Base(dir)
	for _, content := range list.Items {
		rename(content, own)
		s.objects = append(s.objects, &unstructured.Unstructured{Object: content})
	}
	for _, v := range want.Verdicts {
		s.unused[subject{v.Kind, renamed(v.Namespace, own), v.Name}] = v.Action != "Keep"
	}
	return nil
}

func readYAML(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(data, into)
}

// rename replaces the shared namespace wherever a field of an object names a namespace.
func rename(value any, own string) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if text, ok := field.(string); ok && strings.HasSuffix(strings.ToLower(key), "namespace") {
				v[key] = renamed(text, own)
				continue
			}
			rename(field, own)
		}
	case []any:
		for _, item := range v {
			rename(item, own)
		}
	}
}

func renamed(namespace, own string) string {
	if namespace == sharedNamespace {
		return own
	}
	return namespace
}

// kinds are the kinds of the subjects, sorted.
func (s *state) kinds() (all []string) {
	for subject := range s.unused {
		all = append(all, subject.kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
