// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestLastTime: the page shows objects that are never due, and no time that RFC 3339 cannot write.
func TestLastTime(t *testing.T) {
	b := openPlayground(t)
	b.link("apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: batch}\nspec:\n"+
		"  windows: [{schedule: 0 2 * * *, duration: 4h}]\n  freezes: [{from: 2026-01-01T00:00:00Z, to: 9999-12-31T23:59:59Z}]\n"+
		"  rules:\n  - {name: jobs, target: {apiVersion: batch/v1, kind: Job}, startTime: object.metadata.creationTimestamp, ttl: 1h}\n",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: shop, creationTimestamp: 2026-03-01T00:00:00Z}\n", "9999-12-31T23:00:00-05:00")
	expect.Equal(t, "time", "9999-12-31T23:59:59Z", value[string](b, `document.getElementById("time").value`))
	expect.Equal(t, "status", "1 policy, 1 object, 1 verdict", b.status())
}

// TestProtectedKindsOfSamples: policies of a sample may target its protected kinds only while they are unchanged.
func TestProtectedKindsOfSamples(t *testing.T) {
	b := openPlayground(t)
	b.choose("claim-snapshots")
	expect.Equal(t, "the sample has a problem", false, strings.Contains(b.status(), "problem"))
	b.run(`document.querySelector("#policies .cm-content").focus()`)
	expect.NoError(t, chromedp.Do(b.ctx, chromedp.KeyEvent("# edited\n")))
	b.settle()
	expect.Equal(t, "the edited policy has a problem", true, strings.Contains(b.status(), "problem"))
}
