// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	docs     = "docs"
	settings = docs + "/.vitepress"
)

// Site returns the directory of the documentation, with the playground and the reports of the samples. base is its path on the
// server, with a slash at both ends.
func Site(ctx context.Context, base string) (string, error) {
	if err := checkBase(base); err != nil {
		return "", err
	}
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	playground, err := Page(ctx)
	if err != nil {
		return "", err
	}
	packages, err := Packages(ctx, settings)
	if err != nil {
		return "", err
	}
	reports, list, err := reportsOf(ctx, filepath.Join(root, "samples"))
	if err != nil {
		return "", err
	}
	files, err := filesBelow(root, docs)
	if err != nil {
		return "", err
	}
	return cached("site", hashOf(root, files, playground, packages, reports, base), func(dir string) error {
		work := dir + "-work"
		defer func() { _ = os.RemoveAll(work) }()
		if err := stage(filepath.Join(root, docs), packages, work); err != nil {
			return err
		}
		if err := prepare(work, playground, reports, list); err != nil {
			return err
		}
		_, err := run(ctx, work, nil, "node", filepath.Join(packages, "vitepress/bin/vitepress.js"), "build", "--outDir", dir, "--base", base)
		return err
	})
}

// checkBase returns an error if a path of a server does not begin and end with a slash, or a browser would read it as another path.
func checkBase(base string) error {
	if clean := strings.TrimSuffix(path.Clean(base), "/") + "/"; clean == base && base[0] == '/' && (&url.URL{Path: base}).EscapedPath() == base {
		return nil
	}
	return fmt.Errorf("base %q of the site is invalid: it must be a path that begins and ends with \"/\", without special characters; use for example BASE=/sunset/", base)
}

// prepare names the pages as the generator expects, and adds the playground and the reports. list is the page of the reports.
func prepare(work, playground string, reports map[string]string, list string) error {
	pages, err := filesBelow(work, ".")
	if err != nil {
		return err
	}
	for _, page := range pages {
		if dir, name := filepath.Split(page); name == "README.md" {
			if err := os.Rename(filepath.Join(work, page), filepath.Join(work, dir, "index.md")); err != nil {
				return err
			}
		}
	}
	if err := os.CopyFS(filepath.Join(work, "public/playground"), os.DirFS(playground)); err != nil {
		return err
	}
	written := map[string]string{filepath.Join(work, "reports/index.md"): list}
	for name, report := range reports {
		written[filepath.Join(work, "public/reports", name+".html")] = report
	}
	for file, text := range written {
		if err := writeFile(file, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}
