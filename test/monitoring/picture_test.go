package monitoring_test

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "draw docs/dashboard.svg again")

// TestThePictureIsTheDashboards: docs/dashboard.svg is the dashboard with the recorded data.
func TestThePictureIsTheDashboards(t *testing.T) {
	const picture = "../../docs/dashboard.svg"
	got := pinned(t, nil, "run", "./picture", "-dashboard", "../"+files+"dashboard.json", "-series", "../testdata/recorded.series")
	if *update {
		if err := os.WriteFile(picture, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Error("docs/dashboard.svg shows another dashboard (go test ./test/monitoring -run Picture -update)")
	}
}
