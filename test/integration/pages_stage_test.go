// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/debian"
	"github.com/sunset-k8s/sunset/test/expect"
)

// stage is a control plane with a controller, on which pages run.
type stage struct {
	*env
	dir, home   string // working directory of the commands, and their home directory with the plugin
	environment []string
	world       []*unstructured.Unstructured // the objects with which each page begins
	notRun      notRun
	scenes      map[string]scene
	plugin      bool // kubectl runs kubectl-sunset
}

// scene is an entry of scenes.yaml, which describes the fields.
type scene struct {
	Prepare       string
	Plugin        bool
	Before, Named map[string]string
}

func scenesOf(t *testing.T) (all map[string]scene) {
	t.Helper()
	text, err := os.ReadFile("testdata/pages/scenes.yaml")
	expect.NoError(t, err)
	expect.NoError(t, yaml.UnmarshalStrict(text, &all))
	return all
}

func newStage(t *testing.T) *stage {
	if _, err := debian.Programs(t.Context(), map[string]string{"jq": "jq", "zstd": "zstd"}, t.Output()); err != nil {
		t.Skip("commands of the pages need jq and zstd: ", err)
	}
	w := newEnv(t)
	s := &stage{env: w, home: t.TempDir(), notRun: notRunOf(t), scenes: scenesOf(t)}
	bin := filepath.Dir(built(t, "kubectl-sunset"))
	expect.NoError(t, os.Mkdir(filepath.Join(s.home, "bin"), 0o755))
	s.environment = append(w.withKubectl(bin), "HOME="+s.home, "GOGC=off", "GOMEMLIMIT=1GiB")                         // many short commands
	build := exec.Command("go", "run", "-exec=cp", "filippo.io/age/cmd/age-keygen", filepath.Join(bin, "age-keygen")) // go run keeps programs
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.dir = s.home
	permissions, err := os.ReadFile("../../docs/reference/permissions.md")
	expect.NoError(t, err)
	objects, err := os.ReadFile("testdata/pages/objects.yaml")
	expect.NoError(t, err)
	for _, document := range append(documents(string(permissions)), strings.Split(string(objects), "\n---\n")...) {
		object := &unstructured.Unstructured{}
		expect.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		s.world = append(s.world, object)
	}
	s.must(t, "kubectl wait --for=delete ns/sunset-system ns/shop ns/team-a --timeout=2m") // of a test before, on the same control plane
	s.reset(t)
	t.Cleanup(func() {
		s.remove(t)
		for _, object := range s.world {
			expect.NoError(t, client.IgnoreNotFound(s.Client.Delete(context.Background(), object, client.PropagationPolicy(metav1.DeletePropagationBackground))))
		}
	})
	w.openReports()
	account, err := w.plane.UserConfig("system:serviceaccount:sunset-system:sunset-controller")
	expect.NoError(t, err)
	w.sunset(func(c *manager.Config) { c.Rest = account })
	return s
}

// reset removes what pages and other tests have created, and restores the objects with which each page begins. It needs no kubectl,
// whose processes would take most of the time of a page.
func (s *stage) reset(t *testing.T) {
	t.Helper()
	s.remove(t)
	for _, object := range s.world {
		cluster.Eventually(t, patience, func() error { // the API server may call a webhook for a moment after a page has deleted it
			wanted := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
			return s.Apply(t.Context(), wanted, client.FieldOwner("pages"), client.ForceOwnership)
		})
	}
}

// remove removes what pages create in the whole cluster. Objects in the namespaces of pages stay.
func (s *stage) remove(t *testing.T) {
	t.Helper()
	var namespaces corev1.NamespaceList
	expect.NoError(t, s.List(context.Background(), &namespaces))
	for _, kind := range []client.Object{&batchv1.Job{}, &v1alpha1.RetentionPolicy{}, &v1alpha1.RetentionApproval{}} {
		for _, namespace := range namespaces.Items {
			s.removeAll(t, kind, client.InNamespace(namespace.Name), client.PropagationPolicy(metav1.DeletePropagationBackground))
		}
	}
	for _, kind := range []client.Object{
		&v1alpha1.ClusterRetentionPolicy{}, &v1alpha1.ClusterRetentionApproval{}, &v1alpha1.RetentionArchive{}, &v1alpha1.RetentionDigest{},
		&v1alpha1.RetentionLedger{},
	} {
		s.removeAll(t, kind)
	}
	s.removeAll(t, &rbacv1.ClusterRole{}, client.MatchingLabels{"rbac.sunset-k8s.io/aggregate-to-controller": "true"})
	for _, name := range []string{"sunset-approvers", "sunset-node-agent", "sunset-profiles", "sunset-webhook"} {
		meta := metav1.ObjectMeta{Name: name}
		for _, object := range []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: meta}, &rbacv1.ClusterRole{ObjectMeta: meta}} {
			expect.NoError(t, client.IgnoreNotFound(s.Client.Delete(context.Background(), object)))
		}
	}
}

func (s *stage) removeAll(t *testing.T, kind client.Object, which ...client.DeleteAllOfOption) {
	t.Helper()
	expect.NoError(t, s.DeleteAllOf(context.Background(), kind, which...))
}

// play runs the commands of a page.
func (s *stage) play(t *testing.T, page page) {
	s.dir = t.TempDir()
	expect.NoError(t, os.CopyFS(filepath.Join(s.dir, "crds"), os.DirFS("../../crds"))) // kubectl reads no directory that is a symbolic link
	for _, folder := range []string{"samples", "cmd", "docs"} {
		root, err := filepath.Abs("../../" + folder)
		expect.NoError(t, err)
		expect.NoError(t, os.Symlink(root, filepath.Join(s.dir, folder)))
	}
	for i, block := range blocksOf(page.text, "yaml") {
		expect.NoError(t, os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("block-%d.yaml", i+1)), []byte(block), 0o600))
	}
	scene := s.scenes[page.name]
	s.plugin = scene.Plugin
	s.reset(t)
	if scene.Prepare != "" {
		s.must(t, scene.Prepare)
	}
	done := map[string]bool{}
	for _, command := range page.commands {
		if _, why := s.notRun.find(page.name, command); why != "" {
			t.Logf("not run: %s: %s", command.command, why)
			continue
		}
		for prefix, before := range scene.Before {
			if !done[prefix] && strings.HasPrefix(command.command, prefix) {
				done[prefix] = true
				s.must(t, before)
			}
		}
		for text, printed := range scene.Named {
			if strings.Contains(command.command, text) {
				command.command = strings.ReplaceAll(command.command, text, strings.TrimSpace(s.must(t, printed)))
			}
		}
		s.check(t, command)
	}
	for prefix := range scene.Before {
		if !done[prefix] {
			t.Errorf("the page has no command %s", prefix)
		}
	}
}

// reading finds commands that only read, whose output may change in a moment.
var reading = regexp.MustCompile(`^kubectl (get|auth can-i|sunset archive ls) `)

// check runs a command. It must succeed, or print what the page shows; if it only reads, within some time.
func (s *stage) check(t *testing.T, command shown) {
	t.Helper()
	if began := time.Now(); command.output == "" {
		printed := s.must(t, command.command)
		t.Logf("$ %s # %s\n%s", command.command, time.Since(began).Round(100*time.Millisecond), printed)
		return
	}
	run := func() error {
		out, _ := s.bash(command.command) // the exit code may be 1, such as that of kubectl auth can-i
		return command.shows(out)
	}
	if reading.MatchString(command.command) {
		cluster.Eventually(t, patience, run)
	} else if err := run(); err != nil {
		t.Errorf("%s: %v", command.command, err)
	}
}

// must runs commands that must succeed, and returns their output.
func (s *stage) must(t *testing.T, commands string) string {
	t.Helper()
	out, err := s.bash(commands)
	if err != nil {
		t.Errorf("%s: %v\n%s", commands, err, out)
	}
	return out
}

// failing are the exit codes that commands may have: those that the user interrupts, and those that find a difference, a problem (such as
// a controller without a Deployment) or nothing.
var failing = map[int]*regexp.Regexp{124: regexp.MustCompile(`^timeout 5 `), 1: regexp.MustCompile(`^kubectl sunset (archive diff|check|status|who|test .*--fail-only)\b`)}

// watching finds commands that run until the user interrupts them.
var watching = regexp.MustCompile(`^kubectl (get|sunset status) .*(-w|--watch)$`)

// direct makes bash run kubectl-sunset without kubectl, which takes a tenth of a second of a processor to find and start it.
const direct = `kubectl() { if [ "$1" = sunset ]; then shift; kubectl-sunset "$@"; else command kubectl "$@"; fi; }
`

// bash runs commands with kubectl and its plugin, answers questions with y, and returns both outputs.
func (s *stage) bash(commands string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	commands = strings.ReplaceAll(commands, "go run ./cmd/forecast ", "kubectl sunset preview ") // the same code with fewer flags
	if watching.MatchString(commands) {
		commands = "timeout 5 " + commands
	}
	functions := direct
	if s.plugin {
		functions = ""
	}
	run := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", functions+commands)
	run.Dir, run.Env, run.Stdin = s.dir, s.environment, strings.NewReader("y\n")
	out, err := run.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && failing[exit.ExitCode()] != nil && failing[exit.ExitCode()].MatchString(commands) {
		err = nil
	}
	return string(out), err
}
