// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"flag"
	"os"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

var update = flag.Bool("update", false, "draw docs/operations/dashboard.svg again")

// TestPictureIsTheDashboards: docs/operations/dashboard.svg is the dashboard with the recorded data.
func TestPictureIsTheDashboards(t *testing.T) {
	const picture = "../../docs/operations/dashboard.svg"
	got := pinned(t, nil, "run", "./picture", "-dashboard", "../"+files+"dashboard.json", "-series", "../testdata/recorded.series")
	if *update {
		expect.NoError(t, os.WriteFile(picture, got, 0o644))
	}
	want, err := os.ReadFile(picture)
	expect.NoError(t, err)
	if string(want) != string(got) {
		t.Error("docs/operations/dashboard.svg shows another dashboard (go test ./test/monitoring -run Picture -update)")
	}
}
