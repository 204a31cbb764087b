// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestKubectlTable(t *testing.T) {
	const answer = `{
		"columnDefinitions": [
			{"name": "Name", "type": "string"}, {"name": "Mode", "type": "string"}, {"name": "Matched", "type": "integer"},
			{"name": "Due", "type": "integer"}, {"name": "Next", "type": "string"}, {"name": "Reason", "type": "string", "priority": 1},
			{"name": "Age", "type": "date"}],
		"rows": [
			{"cells": ["batch", "DryRun", 1234567, 3, null, "Ready", "17s"]},
			{"cells": ["a-longer-name", "Enforce", 2, 0, "2026-11-21T12:00:08Z", "Ready", "5d"]}]}`
	table, err := decodeTable([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "kubectl.txt", kubectlTable(table))
}
