// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// drawn is what the test reads of a figure.
type drawn struct {
	Style  string `xml:"style"`
	Panels []struct {
		Texts   []string `xml:"text"`
		Circles []struct {
			X float64 `xml:"cx,attr"`
			Y float64 `xml:"cy,attr"`
		} `xml:"circle"`
	} `xml:"g"`
}

func TestCurvesAreWritten(t *testing.T) {
	want := curves{
		Objects:  []point{{Objects: 100, Policies: 1, Resident: 50 << 20, Counted: 1, Change: 0}, {Objects: 10_000, Policies: 1, Resident: 500 << 20, Counted: 1, Change: 0.5}},
		Policies: []point{{Objects: 200, Policies: 1, Resident: 50 << 20, Counted: 1, Change: 0.25}},
	}
	name := filepath.Join(t.TempDir(), "growth")
	expect.NoError(t, want.write(name))
	data, err := os.ReadFile(name + ".json")
	expect.NoError(t, err)
	var got curves
	expect.NoError(t, json.Unmarshal(data, &got))
	expect.Equal(t, "JSON", want, got)
	data, err = os.ReadFile(name + ".svg")
	expect.NoError(t, err)
	var figure drawn
	expect.NoError(t, xml.Unmarshal(data, &figure))
	if !strings.Contains(figure.Style, "prefers-color-scheme: dark") {
		t.Error("no colors for dark pages")
	}
	if len(figure.Panels) != 6 {
		t.Fatalf("%d panels, want 6", len(figure.Panels))
	}
	memory := figure.Panels[0]
	expect.Equal(t, "texts", []string{"memory, MB", "objects, with 1 policy", "50", "100", "500", "10000"}, memory.Texts)
	if a, b := memory.Circles[0], memory.Circles[1]; a.X != 0 || a.Y != panelHeight || b.X != panelWidth || b.Y != 0 {
		t.Errorf("ten times the memory of the first: %v, %v", a, b)
	}
	if a, b := figure.Panels[1].Circles[0], figure.Panels[1].Circles[1]; a.Y != b.Y {
		t.Errorf("the same time: %v, %v", a, b)
	}
}
