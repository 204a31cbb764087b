// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
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

// State is the objects of several samples, and which of the subjects are unused.
type State struct {
	Objects []*unstructured.Unstructured
	unused  map[subject]bool
}

// Read reads the samples in directories.
func Read(dirs ...string) (*State, error) {
	s := &State{unused: map[subject]bool{}}
	for _, dir := range dirs {
		if err := s.add(dir); err != nil {
			return nil, fmt.Errorf("read sample %s: %w", dir, err)
		}
	}
	s.complete()
	return s, nil
}

func (s *State) add(dir string) error {
	var want struct {
		Verdicts []struct{ Kind, Namespace, Name, Action string }
	}
	data, err := os.ReadFile(filepath.Join(dir, "want.yaml"))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, &want); err != nil {
		return err
	}
	objects, err := readObjects(filepath.Join(dir, "objects.yaml"))
	if err != nil {
		return err
	}
	own := sharedNamespace + "-" + filepath.Base(dir)
	for _, o := range objects {
		rename(o.Object, own)
		s.Objects = append(s.Objects, o)
	}
	for _, v := range want.Verdicts {
		s.unused[subject{v.Kind, renamed(v.Namespace, own), v.Name}] = v.Action != "Keep"
	}
	return nil
}

// SampleDirs are the samples about unused objects.
func SampleDirs(samples string) ([]string, error) {
	dirs, err := filepath.Glob(filepath.Join(samples, "unused", "*"))
	if err == nil && len(dirs) == 0 {
		err = fmt.Errorf("no samples in %s: run the program in the root of the repository", samples)
	}
	return append(dirs, filepath.Join(samples, "unused-configmaps"), filepath.Join(samples, "unused-secrets")), err
}

// readObjects reads the documents of a file, and the items of lists.
func readObjects(file string) (all []*unstructured.Unstructured, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var o unstructured.Unstructured
		switch err := decoder.Decode(&o); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case !o.IsList():
			all = append(all, &o)
			continue
		}
		err := o.EachListItem(func(item runtime.Object) error {
			all = append(all, item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
}

// rename replaces the shared namespace wherever a field of an object names a namespace.
func rename(value any, own string) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			text, isText := field.(string)
			switch {
			case isText && strings.HasSuffix(strings.ToLower(key), "namespace"):
				v[key] = renamed(text, own)
			case isText && key == "argocd.argoproj.io/tracking-id":
				v[key] = strings.Replace(text, ":"+sharedNamespace+"/", ":"+own+"/", 1)
			default:
				rename(field, own)
			}
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

// Sorted returns the objects without a namespace first, because Pods and claims need their classes.
func (s *State) Sorted() []*unstructured.Unstructured {
	return slices.SortedStableFunc(slices.Values(s.Objects), func(x, y *unstructured.Unstructured) int {
		return strings.Compare(x.GetNamespace(), y.GetNamespace())
	})
}

// kinds are the kinds of the subjects, sorted.
func (s *State) kinds() (all []string) {
	for subject := range s.unused {
		all = append(all, subject.kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
