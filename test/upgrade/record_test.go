// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/upgrade"
)

var (
	recordAs   = flag.String("record", "", "run the programs of a checkout, and save what they write under this name in testdata")
	recordFrom = flag.String("from", "", "the checkout; the current one by default")
)

// record runs the programs of a checkout on a separate control plane, and saves what they leave behind.
func record(t *testing.T, name, from string) {
	root, err := filepath.Abs("../..")
	expect.NoError(t, err)
	if from == "" {
		from = root
	}
	controller, agent := build(t, from, "sunset-controller"), build(t, from, "sunset-node-agent")
	s := newSetup(t, filepath.Join(from, "crds"))
	s.play(controller, agent)
	dir := filepath.Join(upgrade.Dir(), name)
	expect.NoError(t, os.RemoveAll(dir))
	expect.NoError(t, os.MkdirAll(dir, 0o755))
	if s.state != "" {
		expect.NoError(t, os.CopyFS(filepath.Join(dir, upgrade.StateDir), os.DirFS(s.state)))
	}
	about := fmt.Sprintf("at: %q\nhow: test/upgrade -record with the programs of commit %s\n", time.Now().UTC().Format(time.RFC3339), commit(t, from))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, upgrade.AboutFile), []byte(about), 0o644))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, upgrade.ObjectsFile), s.objects(), 0o644))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, upgrade.CRDsFile), definitions(t, filepath.Join(from, "crds")), 0o644))
}

// build returns the path of a program; empty if the checkout has no program with this name.
func build(t *testing.T, from, program string) string {
	if _, err := os.Stat(filepath.Join(from, "cmd", program)); err != nil {
		return ""
	}
	path := filepath.Join(t.TempDir(), program)
	command := exec.Command("go", "build", "-o", path, "./cmd/"+program)
	command.Dir = from
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func commit(t *testing.T, from string) string {
	out, err := exec.Command("git", "-C", from, "describe", "--always", "--dirty").Output()
	expect.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// objects returns all objects that Sunset has written or changed.
func (s *setup) objects() []byte {
	var all bytes.Buffer
	for _, kind := range []string{"ClusterRetentionPolicy", "RetentionLedger", "NodeImageRules", "NodeImageReport", "ConfigMap"} {
		for _, u := range s.list(kind) {
			if kind == "ConfigMap" && u.GetNamespace() != namespace {
				continue
			}
			u.SetManagedFields(nil)
			text, err := yaml.Marshal(u.Object)
			expect.NoError(s.T, err)
			fmt.Fprintf(&all, "---\n%s", text)
		}
	}
	return all.Bytes()
}

// definitions returns the CustomResourceDefinitions of a checkout without the descriptions, which have no effect.
func definitions(t *testing.T, dir string) []byte {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	expect.NoError(t, err)
	var all bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		var crd map[string]any
		expect.NoError(t, yaml.Unmarshal(text, &crd))
		text, err = yaml.Marshal(undescribed(crd))
		expect.NoError(t, err)
		fmt.Fprintf(&all, "---\n%s", text)
	}
	return all.Bytes()
}

// undescribed drops descriptions, which are strings, but not fields with that name.
func undescribed(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if _, isText := v["description"].(string); isText {
			delete(v, "description")
		}
		for key := range v {
			v[key] = undescribed(v[key])
		}
	case []any:
		for i := range v {
			v[i] = undescribed(v[i])
		}
	}
	return value
}
