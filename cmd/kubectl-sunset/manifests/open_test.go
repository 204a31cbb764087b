// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifests"
	"github.com/sunset-k8s/sunset/test/expect"
)

const object = "apiVersion: v1\nkind: Pod\n"

func tree(t *testing.T) {
	t.Chdir(t.TempDir())
	files := fstest.MapFS{}
	for path, text := range map[string]string{
		"a.yaml": object, "b.yml": object, "c.json": `{"apiVersion":"v1","kind":"Pod"}`, "values.yaml": "replicas: 3\n",
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
		"a directory, manifests only":        {[]string{"."}, false, []string{"a.yaml", "b.yml", "c.json"}},
		"a directory and its subdirectories": {[]string{"."}, true, []string{"a.yaml", "b.yml", "below/d.yaml", "c.json"}},
		"standard input among files":         {[]string{"below", "-", "a.yaml"}, false, []string{"below/d.yaml", "stdin", "a.yaml"}},
		"files that match a pattern":         {[]string{"below/*.yaml"}, false, []string{"below/d.yaml"}},
		"no files":                           {nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tree(t)
			files, err := manifests.Open(resource.FilenameOptions{Filenames: test.paths, Recursive: test.recursive}, strings.NewReader(object))
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
		if _, err := manifests.Open(resource.FilenameOptions{Filenames: paths}, strings.NewReader("")); err == nil {
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
		files, err := manifests.Open(resource.FilenameOptions{Filenames: []string{file}}, nil)
		expect.NoError(t, err)
		err = files.Each(func(item load.Item) error { _, err := item.Objects(); return err })
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestOpenOtherSources: URLs, the output of kustomize, and files in UTF-16, as PowerShell writes them.
func TestOpenOtherSources(t *testing.T) {
	tree(t)
	expect.NoError(t, os.WriteFile("kustomization.yaml", []byte("namePrefix: x-\nresources: [named.yaml]\n"), 0o644))
	expect.NoError(t, os.WriteFile("named.yaml", []byte(object+"metadata: {name: a}\n"), 0o644))
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(object + "metadata: {name: a}\n")
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile("utf16.yaml", []byte(utf16), 0o644))
	server := httptest.NewServer(http.FileServerFS(os.DirFS(".")))
	t.Cleanup(server.Close)
	for want, options := range map[string]resource.FilenameOptions{
		server.URL + "/named.yaml:1 a": {Filenames: []string{server.URL + "/named.yaml"}},
		".:1 x-a":                      {Kustomize: "."},
		"utf16.yaml:1 a":               {Filenames: []string{"utf16.yaml"}},
	} {
		files, err := manifests.Open(options, nil)
		expect.NoError(t, err)
		expect.NoError(t, files.Each(func(item load.Item) error {
			objects, err := item.Objects()
			expect.NoError(t, err)
			expect.Equal(t, "object", want, fmt.Sprintf("%s:%d %s", item.File, item.Line, load.NameOf(objects[0])))
			return nil
		}))
		expect.Equal(t, "files", 1, files.Len())
	}
	several, err := manifests.Open(resource.FilenameOptions{Filenames: []string{server.URL + "/a.yaml", "-", server.URL + "/b.yml"}}, strings.NewReader(object))
	expect.NoError(t, err)
	for range 2 {
		expect.Equal(t, "files", []string{server.URL + "/a.yaml", "stdin", server.URL + "/b.yml"}, seen(t, several))
	}
	expect.NoError(t, several.Close())
	if _, err := manifests.Open(resource.FilenameOptions{Filenames: []string{server.URL + "/missing.yaml"}}, nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("error %v", err)
	}
}
