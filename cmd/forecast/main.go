// SPDX-License-Identifier: Apache-2.0

// Command forecast shows which objects in files a policy would delete, and when. It prints what kubectl sunset preview prints for
// the same files. It links no client library, because those take most of the first compilation:
//
//	go run ./cmd/forecast -f FILE|DIRECTORY... [--at TIME]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/offline"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

func main() {
	err := run(context.Background(), os.Args[1:], time.Now(), os.Stdout, os.Stderr)
	if err == nil {
		return
	}
	if !errors.Is(err, errFindings) {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, now time.Time, out, problems io.Writer) error {
	files, at := &load.Files{}, now.UTC().Truncate(time.Second)
	flags := flag.NewFlagSet("forecast", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Func("f", "`file` or directory with policies and objects; can be repeated", func(path string) error { return add(files, path) })
	flags.Func("at", "evaluate the rules at this `time`, in RFC 3339 (default now)", func(text string) (err error) {
		at, err = time.Parse(time.RFC3339, text)
		at = at.UTC()
		return err
	})
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; name files with -f", flags.Arg(0))
	}
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		return err
	}
	return forecast(ctx, files, load.NewLoader(compiler, policy.DefaultProtection("sunset-system")), at, out, problems)
}

// errFindings ends a forecast that has printed what is wrong with policies or objects.
var errFindings = errors.New("findings")

// forecast does what preview does for files with policies and objects.
func forecast(ctx context.Context, files *load.Files, loader *load.Loader, at time.Time, out, problems io.Writer) error {
	in, err := load.Skim(files, loader)
	if err != nil {
		return err
	}
	if len(in.Policies) == 0 || in.Others == 0 {
		return errors.New("the files must contain a policy and objects; name them with -f. For a policy alone, use kubectl sunset preview, which reads the cluster")
	}
	in.CheckNames(true)
	in.Check(loader)
	in.Enforce()
	result, notes, err := offline.Preview(ctx, files.Feed(), in, loader.Input(at))
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(problems, "note: %s\n", note)
	}
	load.WriteProblems(problems, in.Documents())
	load.WriteWarnings(problems, in.Policies)
	if err := preview.WriteTable(out, result, false); err != nil {
		return err
	}
	if in.Problems() > 0 || len(result.Failures) > 0 {
		return errFindings
	}
	return nil
}

// add adds a file, or the manifests of a directory.
func add(files *load.Files, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	names := []string{path}
	if info.IsDir() {
		names = nil
		for _, extension := range []string{"*.json", "*.yaml", "*.yml"} {
			found, err := filepath.Glob(filepath.Join(path, extension))
			if err != nil {
				return err
			}
			names = append(names, found...)
		}
		slices.Sort(names)
	}
	var all []load.File
	for _, name := range names {
		all = append(all, load.File{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	files.Add(path, all...)
	return nil
}
