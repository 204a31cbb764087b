// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/offline"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// page reads only the files if they contain objects, and the cluster otherwise.
func (e *explainCommand) page(ctx context.Context, files *load.Files, in *load.Contents, object objectName) (*explain.Page, error) {
	switch {
	case in.Others > 0 && len(in.Policies) == 0:
		return nil, errors.New("the files contain objects and no policy; use -f to add a policy")
	case in.Others > 0 && e.node.isLive():
		return nil, e.node.errNoFile()
	case in.Others > 0:
		if err := e.connection.checkClusterFlags(in); err != nil {
			return nil, err
		}
		return e.fromFiles(ctx, files, in, object)
	case object == objectName{}:
		return nil, errors.New("no object given; name one as KIND/NAME, or add a file with the object with -f")
	case e.node.isLive():
		return e.onNode(ctx, in, object)
	default:
		return e.explainLive(ctx, in, object)
	}
}

// fromFiles explains an object in the files.
func (e *explainCommand) fromFiles(ctx context.Context, files *load.Files, in *load.Contents, what objectName) (*explain.Page, error) {
	object, err := e.find(files, what)
	if err != nil {
		return nil, err
	}
	page, said, err := offline.Explain(ctx, files, in, e.input(nil, preview.NamespaceOf(object)), object)
	notes{e.streams.ErrOut}.all(said)
	return page, err
}

// find returns the object to explain.
func (e *explainCommand) find(files *load.Files, what objectName) (map[string]any, error) {
	found, err := files.Find(what.name, func(object map[string]any) bool { return e.matches(what, object) })
	switch {
	case err != nil:
		return nil, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && what == objectName{}:
		return nil, errors.New("the files contain only policies, namespaces, quotas and nodes; add the object to explain")
	case len(found) == 0 && isNamed(what.kind, v1alpha1.ImageKind):
		return findImage(files, what.name)
	case len(found) == 0:
		return nil, fmt.Errorf("%s %s not found in the files; to read the cluster, name only files with policies", what.kind, what.name)
	default:
		return nil, fmt.Errorf("the files contain several objects; name one as KIND/NAME, and its namespace with -n: %s", namesOf(found))
	}
}

// matches reports whether an object is the one to explain. Without a name, any object matches that can be explained.
func (e *explainCommand) matches(what objectName, object map[string]any) bool {
	kind, namespace := preview.KindOf(object), preview.NamespaceOf(object)
	if e.namespace != "" && namespace != "" && namespace != e.namespace {
		return false
	}
	if what == (objectName{}) {
		isContext := kind.Group == "" && slices.Contains([]string{"Namespace", "ResourceQuota", "Node"}, kind.Kind) || load.IsDefinition(object)
		return !isContext && !load.IsPolicy(object)
	}
	return isNamed(what.kind, kind, e.defined[kind.GroupKind()]...) && load.NameOf(object) == what.name
}

// findImage returns the image in the files that a name refers to.
func findImage(files *load.Files, name string) (map[string]any, error) {
	var objects []map[string]any
	var images []engine.Image
	err := files.Each(func(item load.Item) error {
		if !item.Mentions(v1alpha1.ImageKind.Group) {
			return nil
		}
		some, err := item.Objects()
		for _, object := range some {
			if preview.KindOf(object).GroupKind() != v1alpha1.ImageKind.GroupKind() {
				continue
			}
			if image, _ := engine.ImageOf(object); image != nil { // the evaluation reports other errors of the image
				objects, images = append(objects, object), append(images, *image)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	found, err := load.FindImage(images, name)
	if err != nil {
		return nil, fmt.Errorf("in the files: %w", err)
	}
	return objects[slices.IndexFunc(images, func(i engine.Image) bool { return i.ID == found.ID })], nil
}

// isNamed reports whether name, in any case, names a kind: Job, jobs, jobs.batch, job.v1.batch, deploy, or one of the defined
// names.
func isNamed(name string, kind schema.GroupVersionKind, defined ...string) bool {
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	for _, known := range slices.Concat(load.ShortNames(kind), defined, []string{plural.Resource, singular.Resource}) {
		for _, full := range []string{known, known + "." + kind.Group, known + "." + kind.Version + "." + kind.Group} {
			if strings.EqualFold(strings.TrimSuffix(full, "."), name) {
				return true
			}
		}
	}
	return false
}

// namesOf names the first five objects.
func namesOf(objects []map[string]any) string {
	var names []string
	for _, object := range objects {
		name := preview.KindOf(object).Kind + "/" + load.NameOf(object)
		if namespace := preview.NamespaceOf(object); namespace != "" {
			name += " in " + namespace
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(policy.Shortlist(names, 5, ""), ", ")
}
