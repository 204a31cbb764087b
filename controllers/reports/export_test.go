// SPDX-License-Identifier: Apache-2.0

package reports

import "context"

// Round makes one round, unless the last one was less than a minute ago.
func (w *Writer) Round(ctx context.Context) { w.round(ctx) }

// MaxWrites is the maximum number of writes in a round.
const MaxWrites = maxWrites
