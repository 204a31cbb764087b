package golden

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
)

// FileName is what the file of a case is called.
const FileName = "want.yaml"

// AsWritten is the value of modes that lets DryRun policies act as such. Without it policies count as enforced.
const AsWritten = "asWritten"

// Want is a want.yaml: what is to be judged, when, and what is wanted.
type Want struct {
	At       time.Time `json:"at"`
	Policies []string  `json:"policies,omitempty"` // files beside it; policy.yaml unless given
	Objects  []string  `json:"objects,omitempty"`  // files beside it; objects.yaml unless given
	Modes    string    `json:"modes,omitempty"`    // AsWritten, or empty

	Verdicts []report.Verdict `json:"verdicts,omitempty"` // every field given must match; of message a part is enough
	Errors   []report.Failure `json:"errors,omitempty"`   // likewise
	Problems []string         `json:"problems,omitempty"` // parts of the problems of invalid policies
}

// Case is a directory with a want.yaml.
type Case struct {
	Dir  string
	Want Want
}

// Find gives the cases in and below the directories, in the order of their names.
func Find(dirs []string) ([]Case, error) {
	var paths []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == FileName && !entry.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(paths)
	var cases []Case
	for _, path := range slices.Compact(paths) {
		c, err := load(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func load(path string) (Case, error) {
	c := Case{Dir: filepath.Dir(path)}
	data, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := yaml.UnmarshalStrict(data, &c.Want); err != nil {
		return c, err
	}
	return c, c.Want.check()
}

func (w *Want) check() error {
	if w.At.IsZero() {
		return fmt.Errorf("at is missing: the time of the case, such as 2026-03-01T12:00:00Z")
	}
	if w.Modes != "" && w.Modes != AsWritten {
		return fmt.Errorf("modes is %q; write %s, or leave it out to have policies count as enforced", w.Modes, AsWritten)
	}
	for _, v := range w.Verdicts {
		if v.Kind == "" || v.Name == "" || v.Action == "" || v.Reason == "" {
			return fmt.Errorf("a verdict needs kind, name, action and reason, and %+v lacks one", v)
		}
	}
	if w.Policies == nil {
		w.Policies = []string{"policy.yaml"}
	}
	if w.Objects == nil {
		w.Objects = []string{"objects.yaml"}
	}
	return nil
}

// files are those of the case.
func (c Case) files() []string {
	var paths []string
	for _, name := range slices.Concat(c.Want.Policies, c.Want.Objects) {
		paths = append(paths, filepath.Join(c.Dir, name))
	}
	return paths
}
