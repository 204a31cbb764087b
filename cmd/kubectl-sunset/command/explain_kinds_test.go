package command_test

import "testing"

func TestExplainFindsObjectsOfFilesByShortName(t *testing.T) {
	files := cluster("apiVersion: apps/v1, kind: Deployment", "true") +
		"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: team, uid: u, creationTimestamp: '2026-01-01T00:00:00Z'}\n"
	wants(t, run(t, files, "explain", "deploy/web", "-f", "-"), 0, "Deployment")
}
