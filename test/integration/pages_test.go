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
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/debian"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestCommandsOfPages runs the commands of the quickstart and of all pages about tasks with bash, in the order of each page, beside a
// running controller. The commands are the lines of blocks without a language. A line that begins with "$ " shows the output of its
// command too, which is compared. Tests of the command line run the blocks with the language console.
//
// The folder testdata/pages has the objects with which all pages begin, those of one page (scenes.yaml), and the commands that cannot run
// here (not-run.yaml).
func TestCommandsOfPages(t *testing.T) {
	s := newStage(t)
	pages, err := filepath.Glob("../../docs/tasks/*.md")
	expect.NoError(t, err)
	for _, page := range append(pages, "../../docs/quickstart.md") {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		text, err := os.ReadFile(page)
		expect.NoError(t, err)
		if commands := commandsOf(string(text)); len(commands) > 0 {
			t.Run(name, func(t *testing.T) { s.play(t, name, string(text), commands) })
		}
	}
	for name := range s.scenes {
		if !slices.Contains(pages, "../../docs/tasks/"+name+".md") {
			t.Errorf("scene %s: no such page", name)
		}
	}
}

// TestNotRunNamesCommandsOfPages: a command that is no longer on a page is not in not-run.yaml.
func TestNotRunNamesCommandsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/tasks/*.md")
	expect.NoError(t, err)
	skip, used := notRunOf(t), map[string]bool{}
	for _, page := range append(pages, "../../docs/quickstart.md") {
		text, err := os.ReadFile(page)
		expect.NoError(t, err)
		for _, command := range commandsOf(string(text)) {
			if prefix, _ := skip.find(strings.TrimSuffix(filepath.Base(page), ".md"), command); prefix != "" {
				used[prefix] = true
			}
		}
	}
	for prefix := range skip {
		if !used[prefix] {
			t.Errorf("no page has the command %s", prefix)
		}
	}
}

// shown is a command on a page, and the output that the page shows for it; empty if it shows none.
type shown struct{ command, output string }

// anyBlock finds a block with its indentation, language and lines.
var anyBlock = regexp.MustCompile("(?ms)^( *)```(\\w*)[^\n]*\n(.*?)^ *```$")

// blocksOf returns the contents of the blocks of a page in a language, without their indentation.
func blocksOf(page, language string) (all []string) {
	for _, block := range anyBlock.FindAllStringSubmatch(page, -1) {
		if block[2] == language {
			all = append(all, strings.TrimPrefix(strings.ReplaceAll("\n"+block[3], "\n"+block[1], "\n"), "\n"))
		}
	}
	return all
}

func commandsOf(page string) (all []shown) {
	for _, block := range blocksOf(page, "") {
		if sessions := strings.Split("\n"+block, "\n$ ")[1:]; len(sessions) > 0 {
			for _, session := range sessions {
				command, output, _ := strings.Cut(session, "\n")
				all = append(all, shown{command, output})
			}
			continue
		}
		command := ""
		for line := range strings.Lines(block) {
			command += line
			if end := strings.TrimSpace(line); strings.HasSuffix(end, `\`) || strings.HasSuffix(end, "|") || strings.Count(command, "'")%2 == 1 {
				continue
			}
			if command = strings.TrimSpace(command); command != "" {
				all = append(all, shown{command: command})
			}
			command = ""
		}
	}
	return all
}

// notRun is why commands are not run, by their first words.
type notRun map[string]string

func notRunOf(t *testing.T) (n notRun) {
	t.Helper()
	text, err := os.ReadFile("testdata/pages/not-run.yaml")
	expect.NoError(t, err)
	expect.NoError(t, yaml.UnmarshalStrict(text, &n))
	return n
}

// find returns the key of a command of a page, and the reason; both are empty if the command runs.
func (n notRun) find(page string, c shown) (prefix, why string) {
	for prefix, why := range n {
		if strings.HasPrefix(c.command, prefix) || strings.HasPrefix(page+": "+c.command, prefix) {
			return prefix, why
		}
	}
	return "", ""
}

// shows reports a difference between the output on the page and the printed one. Both may have other white space and line breaks, and
// other times and hashes. "..." stands for any text.
func (c shown) shows(printed string) error {
	var want []string
	for _, word := range strings.Fields(strings.ReplaceAll(c.output, "[y/N]: y", "[y/N]: ")) { // input is not printed
		if word == "..." {
			want = append(want, `.*`)
			continue
		}
		word = regexp.QuoteMeta(word)
		for _, differs := range differing {
			word = differs.ReplaceAllLiteralString(word, differs.String())
		}
		want = append(want, word)
	}
	got := strings.Join(strings.Fields(printed), " ")
	if c.output != "" && !regexp.MustCompile(`(?s)^`+strings.Join(want, " ?")+`$`).MatchString(got) {
		return fmt.Errorf("the page shows\n%s\nbut the command prints\n%s", c.output, printed)
	}
	return nil
}

// differing finds what differs in each output: hashes, times and ages.
var differing = []*regexp.Regexp{
	regexp.MustCompile(`\b[0-9a-f]{32}\b`), regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), regexp.MustCompile(`\b(?:\d+[dhms])+\b`),
}

// stage is a control plane with a controller, on which pages run.
type stage struct {
	*env
	dir, home   string // working directory of the commands, and their home directory with the plugin
	environment []string
	notRun      notRun
	scenes      map[string]scene
}

// scene is an entry of scenes.yaml, which describes the fields.
type scene struct {
	Prepare       string
	Before, Named map[string]string
}

func newStage(t *testing.T) *stage {
	if _, err := debian.Programs(t.Context(), map[string]string{"jq": "jq", "zstd": "zstd"}, t.Output()); err != nil {
		t.Skip("commands of the pages need jq and zstd: ", err)
	}
	w := newEnv(t)
	s := &stage{env: w, home: t.TempDir(), notRun: notRunOf(t)}
	scenes, err := os.ReadFile("testdata/pages/scenes.yaml")
	expect.NoError(t, err)
	expect.NoError(t, yaml.UnmarshalStrict(scenes, &s.scenes))
	s.environment = append(w.withKubectl(filepath.Dir(built(t, "kubectl-sunset"))), "HOME="+s.home)
	s.dir = s.home
	permissions, err := os.ReadFile("../../docs/reference/permissions.md")
	expect.NoError(t, err)
	objects, err := os.ReadFile("testdata/pages/objects.yaml")
	expect.NoError(t, err)
	world := strings.Join(append(documents(string(permissions)), string(objects)), "\n---\n")
	expect.NoError(t, os.WriteFile(filepath.Join(s.home, "world.yaml"), []byte(world), 0o600))
	s.must(t, "kubectl wait --for=delete ns/sunset-system ns/shop ns/team-a --timeout=2m") // of a test before, on the same control plane
	s.must(t, "kubectl apply -f world.yaml")
	t.Cleanup(func() {
		s.dir = s.home
		s.must(t, removeAll+"; kubectl delete clusterrolebinding sunset-node-agent sunset-approvers --ignore-not-found; kubectl delete -f world.yaml --ignore-not-found --wait=false")
	})
	w.openReports()
	account, err := w.plane.UserConfig("system:serviceaccount:sunset-system:sunset-controller")
	expect.NoError(t, err)
	w.sunset(func(c *manager.Config) { c.Rest = account })
	return s
}

// removeAll removes what pages create in the whole cluster.
const removeAll = "kubectl delete job --all -A; kubectl delete clusterrole -l rbac.sunset-k8s.io/aggregate-to-controller=true; kubectl delete cret,ret,retentionarchives,retentiondigests,clusterretentionapprovals,retentionapprovals --all -A"

// play runs the commands of a page.
func (s *stage) play(t *testing.T, name, page string, commands []shown) {
	s.dir = t.TempDir()
	for _, folder := range []string{"samples", "cmd", "docs"} {
		root, err := filepath.Abs("../../" + folder)
		expect.NoError(t, err)
		expect.NoError(t, os.Symlink(root, filepath.Join(s.dir, folder)))
	}
	for i, block := range blocksOf(page, "yaml") {
		expect.NoError(t, os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("block-%d.yaml", i+1)), []byte(block), 0o600))
	}
	scene := s.scenes[name]
	s.must(t, removeAll+" && kubectl apply -f ~/world.yaml")
	s.must(t, scene.Prepare)
	done := map[string]bool{}
	for _, command := range commands {
		if _, why := s.notRun.find(name, command); why != "" {
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
	if command.output == "" {
		t.Logf("$ %s\n%s", command.command, s.must(t, command.command))
		return
	}
	run := func() error {
		out, _ := s.bash(command.command) // the exit code may be 1, such as that of kubectl auth can-i
		return command.shows(out)
	}
	if reading.MatchString(command.command) {
		cluster.Eventually(t, patience/2, run)
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

// failing are the exit codes that commands may have: those that the user interrupts, and those that find a difference.
var failing = map[int]*regexp.Regexp{124: regexp.MustCompile(`^timeout 3 `), 1: regexp.MustCompile(`^kubectl sunset archive diff `)}

// bash runs commands with kubectl and its plugin, answers questions with y, and returns both outputs.
func (s *stage) bash(commands string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	commands = strings.ReplaceAll(commands, "go run ./cmd/forecast ", "kubectl sunset preview ") // the same code with fewer flags
	if strings.HasPrefix(commands, "kubectl get ") && strings.HasSuffix(commands, " -w") {
		commands = "timeout 3 " + commands
	}
	run := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", commands)
	run.Dir, run.Env, run.Stdin = s.dir, s.environment, strings.NewReader("y\n")
	out, err := run.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && failing[exit.ExitCode()] != nil && failing[exit.ExitCode()].MatchString(commands) {
		err = nil
	}
	return string(out), err
}
