// SPDX-License-Identifier: Apache-2.0

package preview

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TypeMeta returns the apiVersion and a kind of the output of kubectl sunset in JSON and YAML.
func TypeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "cli.sunset-k8s.io/v1alpha1", Kind: kind}
}

// Document is a Result in JSON and YAML, of kind Preview. The format is stable.
type Document struct {
	metav1.TypeMeta `json:",inline"`
	At              Time      `json:"at"`                 // the time of the decisions
	Currency        string    `json:"currency,omitempty"` // of costs; only with prices
	Verdicts        []Record  `json:"verdicts"`
	Errors          []Failure `json:"errors"`
	Diff            []Change  `json:"diff,omitzero"` // nil without a comparison with the rules in force
}

// Document converts the result. WriteJSON and WriteYAML write the same content with less memory.
func (r *Result) Document() *Document {
	d := &Document{TypeMeta: TypeMeta("Preview"), At: Time{r.At}, Currency: r.Prices.Currency(), Verdicts: make([]Record, len(r.Rows)), Errors: append([]Failure{}, r.Failures...)}
	for i := range r.Rows {
		d.Verdicts[i] = r.Rows[i].Record()
	}
	if r.Compared {
		d.Diff = append([]Change{}, r.Changes...)
	}
	return d
}
