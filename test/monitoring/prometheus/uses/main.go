// SPDX-License-Identifier: Apache-2.0

// Command uses reads PromQL expressions, a JSON list of strings. For each it writes the metrics and labels that the
// expression uses, and the labels of its result: the assumptions of a dashboard or an alert.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// expression describes one expression.
type expression struct {
	Error  string   `json:"error,omitempty"` // parse error; the other fields are then empty
	Uses   []use    `json:"uses"`
	Labels []string `json:"labels"` // of the result
	All    bool     `json:"all"`    // the result has all labels of the metrics
}

// use is one metric in an expression, with the labels that the expression uses.
type use struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

func main() {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	said := []expression{}
	for _, text := range texts {
		said = append(said, read(text))
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(text string) expression {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return expression{Error: err.Error()}
	}
	e := expression{Uses: uses(parsed, nil)}
	e.Labels, e.All = results(parsed)
	return e
}

// uses returns the metrics below a node. Each needs the labels that the nodes above it use.
func uses(node parser.Node, asked []string) []use {
	switch n := node.(type) {
	case *parser.VectorSelector:
		one := use{Metric: n.Name, Labels: append([]string{}, asked...)}
		for _, m := range n.LabelMatchers {
			if m.Name != labels.MetricName {
				one.Labels = append(one.Labels, m.Name)
			}
		}
		return []use{one}
	case *parser.AggregateExpr:
		asked = append(append([]string{}, asked...), n.Grouping...)
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			asked = append(append([]string{}, asked...), n.VectorMatching.MatchingLabels...)
		}
	}
	var all []use
	for child := range parser.ChildrenIter(node) {
		all = append(all, uses(child, asked)...)
	}
	return all
}

// results returns the labels of the result of an expression, or reports that it has all labels.
func results(node parser.Expr) (names []string, all bool) {
	switch n := node.(type) {
	case *parser.AggregateExpr:
		return n.Grouping, n.Without
	case *parser.ParenExpr:
		return results(n.Expr)
	case *parser.BinaryExpr:
		return results(n.LHS)
	case *parser.Call:
		for _, argument := range n.Args {
			if t := argument.Type(); t == parser.ValueTypeVector || t == parser.ValueTypeMatrix {
				return results(argument)
			}
		}
		return nil, false
	default:
		return nil, true
	}
}
