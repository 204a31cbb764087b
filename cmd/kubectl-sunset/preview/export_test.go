// SPDX-License-Identifier: Apache-2.0

package preview

import "context"

// Held evaluates objects in one goroutine. It returns the number of rows and failures that are stored only for the comparison.
func (c *Comparison) Held(ctx context.Context, objects ...map[string]any) int {
	evaluator := c.shown.after.Compiler.NewEvaluator(ctx)
	defer evaluator.Close()
	h := c.newComparer(evaluator)
	for _, object := range objects {
		h.judge(object)
	}
	held := 0
	for _, s := range []*results{h.shown.before.results, h.beyond.before.results, h.beyond.after.results} {
		held += len(s.rows) + len(s.failures)
	}
	return held
}
