package main

import (
	"os"
	"testing"
)

// TestTheBenchmarkStillWorks goes through every scenario with small sizes. No figure is judged: the machine decides those.
func TestTheBenchmarkStillWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	lab, err := measure(t.Context(), options{size: short, atATime: agentInFlight})
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.print(os.Stdout); err != nil {
		t.Fatal(err)
	}
	for _, row := range lab.rows {
		if row[0] == "" || row[1] == "" {
			t.Errorf("a figure is missing: %q", row)
		}
	}
}
