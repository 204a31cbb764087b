package load_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/test/expect"
)

const object = "apiVersion: v1\nkind: Pod\n"

func tree(t *testing.T) {
	t.Chdir(t.TempDir())
	files := fstest.MapFS{}
	for path, text := range map[string]string{
		"a.yaml": object, "b.YML": object, "c.json": `{"apiVersion":"v1","kind":"Pod"}`, "values.yaml": "replicas: 3\n",
		"README.md": "# no manifest", "below/d.yaml": object, "below/e.txt": object,
	} {
		files[path] = &fstest.MapFile{Data: []byte(text)}
	}
	expect.NoError(t, os.CopyFS(".", files))
}

// seen returns the files that contain objects.
func seen(t *testing.T, files *load.Files) []string {
	t.Helper()
	var names []string
	err := files.Each(func(item load.Item) error {
		objects, err := item.Objects()
		if len(objects) > 0 {
			names = append(names, item.File)
		}
		return err
	})
	expect.NoError(t, err)
	return names
}

func TestOpen(t *testing.T) {
	for name, test := range map[string]struct {
		paths     []string
		recursive bool
		want      []string
	}{
		"a file":                             {[]string{"a.yaml"}, false, []string{"a.yaml"}},
		"a file of any name":                 {[]string{"below/e.txt"}, false, []string{"below/e.txt"}},
		"a directory, manifests only":        {[]string{"."}, false, []string{"a.yaml", "b.YML", "c.json"}},
		"a directory and its subdirectories": {[]string{"."}, true, []string{"a.yaml", "b.YML", "below/d.yaml", "c.json"}},
		"standard input among files":         {[]string{"below", "-", "a.yaml"}, false, []string{"below/d.yaml", "stdin", "a.yaml"}},
		"no files":                           {nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tree(t)
			files, err := load.Open(test.paths, test.recursive, strings.NewReader(object))
			expect.NoError(t, err)
			defer func() { _ = files.Close() }()
			for range 2 { // files can be read more than once
				if diff := cmp.Diff(test.want, seen(t, files)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	tree(t)
	for _, paths := range [][]string{{"missing.yaml"}, {"-", "-"}} {
		if _, err := load.Open(paths, false, strings.NewReader("")); err == nil {
			t.Errorf("%v: no error", paths)
		}
	}
}

func TestFileThatIsNamedMustHoldObjects(t *testing.T) {
	tree(t)
	expect.NoError(t, os.WriteFile("images.json", []byte("{\n  \"images\": [\n    {\"id\": \"1\"}\n  ]\n}\n"), 0o644))
	for file, want := range map[string]string{
		"values.yaml": "values.yaml:1: not a Kubernetes object: apiVersion or kind is missing",
		"images.json": "images.json:1: not a Kubernetes object but the output of crictl images; use it with preview --images",
	} {
		files, err := load.Open([]string{file}, false, nil)
		expect.NoError(t, err)
		err = files.Each(func(item load.Item) error { _, err := item.Objects(); return err })
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
