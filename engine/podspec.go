// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// containerLists are the fields of a PodSpec that hold containers.
var containerLists = []string{"containers", "initContainers", "ephemeralContainers"}

// configMapPaths and secretPaths are all fields in which a PodSpec names ConfigMaps and Secrets of its namespace; * is
// every element of a list. Optional references count, because a Pod uses the object if it exists.
var (
	configMapPaths = paths(
		[]string{"volumes.*.configMap.name", "volumes.*.projected.sources.*.configMap.name"},
		[]string{"env.*.valueFrom.configMapKeyRef.name", "envFrom.*.configMapRef.name"})

	secretPaths = paths(
		[]string{
			"imagePullSecrets.*.name",
			"volumes.*.secret.secretName",
			"volumes.*.projected.sources.*.secret.name",
			"volumes.*.csi.nodePublishSecretRef.name",
			// In-tree volumes from before CSI. Newer API servers still accept most of them.
			"volumes.*.azureFile.secretName",
			"volumes.*.cephfs.secretRef.name",
			"volumes.*.cinder.secretRef.name",
			"volumes.*.flexVolume.secretRef.name",
			"volumes.*.iscsi.secretRef.name",
			"volumes.*.rbd.secretRef.name",
			"volumes.*.scaleIO.secretRef.name",
			"volumes.*.storageos.secretRef.name",
		},
		[]string{"env.*.valueFrom.secretKeyRef.name", "envFrom.*.secretRef.name"})
)

// paths returns the fields of a Pod and those of each of its containers.
func paths(ofPod, ofContainers []string) []string {
	all := slices.Clone(ofPod)
	for _, list := range containerLists {
		for _, path := range ofContainers {
			all = append(all, list+".*."+path)
		}
	}
	return all
}

// found collects names, each once.
type found struct {
	names []string
	known map[string]bool
}

// at adds the strings at a path. An absent or empty value names nothing. A value of another type is an error, because
// it may be a name that Sunset cannot read.
func (f *found) at(value any, path []string) error {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		if len(path) > 0 && path[0] == anyField {
			return f.each(v, path[1:])
		}
	case map[string]any:
		if len(path) > 0 && path[0] != anyField {
			return f.at(v[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 {
			f.add(v)
			return nil
		}
	}
	return fmt.Errorf("a PodSpec has %[2]s here, but got %[1]T", value, placeOf(path))
}

func (f *found) each(list []any, path []string) error {
	for _, element := range list {
		if err := f.at(element, path); err != nil {
			return err
		}
	}
	return nil
}

func (f *found) add(name string) {
	if name != "" && !f.known[name] {
		f.names = append(f.names, name)
		f.known[name] = true
	}
}

func placeOf(rest []string) string {
	switch {
	case len(rest) == 0:
		return "a name"
	case rest[0] == anyField:
		return "a list"
	}
	return "an object with " + strings.Join(rest, ".")
}

// namesIn binds a function that returns the names at some paths.
func namesIn(function string, paths []string) functions.UnaryOp {
	all := make([][]string, len(paths))
	for i, path := range paths {
		all[i] = strings.Split(path, ".")
	}
	return func(v ref.Val) ref.Val {
		spec, err := objectOf(v)
		if err != nil {
			return failure(function, err)
		}
		f := found{known: map[string]bool{}}
		for _, path := range all {
			if err := f.at(spec, path); err != nil {
				return failure(function, err)
			}
		}
		return types.NewStringList(adapter{}, f.names)
	}
}

func aboutPodSpec(name, what string, all []string, where string, examples ...Example) Function {
	return Function{
		Name:       name,
		Signatures: []string{name + "(podSpec) -> list(string)"},
		Doc: "The names of the " + what + " that a PodSpec uses, each once: " + where + ". Optional references count. Use it for Pods and for " +
			"kinds that have a Pod template: `" + name + "(object.spec.template.spec)`.",
		Examples: examples,
		overloads: []cel.FunctionOpt{
			cel.Overload(name+"_object", []*cel.Type{cel.DynType}, cel.ListType(cel.StringType), cel.UnaryBinding(namesIn(name, all))),
		},
		reads: all,
	}
}
