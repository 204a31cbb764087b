// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"
)

func TestExplainFindsObjectsOfFilesByShortName(t *testing.T) {
	files := cluster("apiVersion: apps/v1, kind: Deployment", "true") +
		"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: team, uid: u, creationTimestamp: '2026-01-01T00:00:00Z'}\n"
	wants(t, run(t, files, "explain", "deploy/web", "-f", "-"), 0, "Deployment")
}

func TestExplainFindsObjectsByTheNamesThatFilesDefine(t *testing.T) {
	object := "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: team, uid: u, creationTimestamp: '2026-01-01T00:00:00Z'}\nspec: {size: 1}\n"
	files := cluster(widget, "object.spec.size == 1") + object + strings.Replace(widgets, "plural: widgets", "plural: widgetry, shortNames: [wdg]", 1)
	for _, name := range []string{"wdg/a", "widgetry/a", "widget/a", "wdg.example.com/a"} {
		wants(t, run(t, files, "explain", name, "-f", "-"), 0, "Widget")
	}
	wants(t, run(t, files, "explain", "-f", "-"), 0, "Widget")
}

func TestWhyIsExplain(t *testing.T) {
	args := results(t)["Explanation"]
	wants(t, run(t, "", append([]string{"why"}, args[1:]...)...), 0, run(t, "", args...).out)
}
