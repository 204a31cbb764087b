package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"text/template"
)

// fill fills in a krew manifest: the version, and the checksums of the archives in a folder. The template is written for
// krew-release-bot and its function addURIAndSha: https://github.com/rajatjindal/krew-release-bot.
func fill(text, version, dir string) (string, error) {
	manifest, err := template.New("krew").Funcs(template.FuncMap{
		"addURIAndSha": func(uri, tag string) (string, error) {
			uri = strings.ReplaceAll(uri, "{{ .TagName }}", tag)
			sum, err := checksum(filepath.Join(dir, path.Base(uri)))
			return fmt.Sprintf("uri: %s\n    sha256: %s", uri, sum), err
		},
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var filled strings.Builder
	err = manifest.Execute(&filled, struct{ TagName string }{version})
	return filled.String(), err
}
