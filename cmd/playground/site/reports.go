// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/policytest"
)

// reportsOf returns the reports of the samples, by the path of the sample, and a page with links to them.
func reportsOf(ctx context.Context, samples string) (reports map[string]string, list string, err error) {
	reports = map[string]string{}
	list = "# Reports\n\nThese pages show what the [samples](../../samples/README.md) delete. `kubectl sunset preview -o html` writes such pages: see\n[Share a preview](../tasks/share-a-preview.md).\n\n"
	tests := "\n## Several rules\n\n"
	err = filepath.WalkDir(samples, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != policytest.FileName {
			return err
		}
		report, err := reportOf(ctx, file)
		if err != nil {
			return fmt.Errorf("report of %s: %w", file, err)
		}
		name, err := filepath.Rel(samples, filepath.Dir(file))
		name = filepath.ToSlash(name)
		reports[name] = report
		link := fmt.Sprintf("- [%s](%s.html)\n", name, name)
		if strings.HasPrefix(name, "combining/") {
			tests += link
		} else {
			list += link
		}
		return err
	})
	return reports, list + tests, err
}

// reportOf returns what kubectl sunset preview -o html writes about the sample of a want.yaml.
func reportOf(ctx context.Context, file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	want, err := policytest.Parse(text)
	if err != nil {
		return "", err
	}
	args := []string{"preview", "--at", want.At.Format(time.RFC3339), "--allow-kinds", strings.Join(want.AllowKinds, ","), "-o", "html"}
	for _, files := range [][]string{want.Policies, want.Objects} {
		for _, name := range files {
			args = append(args, "-f", filepath.Join(filepath.Dir(file), name))
		}
	}
	var page, failures bytes.Buffer
	if code := command.Run(ctx, args, genericiooptions.IOStreams{In: new(bytes.Buffer), Out: &page, ErrOut: &failures}, want.At); code == command.ExitError {
		return "", fmt.Errorf("preview: %s", failures.String())
	}
	return page.String(), nil
}
