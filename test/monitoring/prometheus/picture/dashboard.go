// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// dashboard is the part of Grafana's format that is drawn.
type dashboard struct {
	Title  string
	Panels []panel
}

type panel struct {
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ Expr, LegendFormat string }
	FieldConfig struct {
		Defaults struct {
			Unit, NoValue string
			Thresholds    struct{ Steps []step }
			Custom        struct{ Stacking struct{ Mode string } }
		}
	}
}

// step is a colour that applies from a value on; nil is the lowest value.
type step struct {
	Color string
	Value *float64
}

func read(name string) (*dashboard, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d := &dashboard{}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}
