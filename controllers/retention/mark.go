// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

// mark records on a subject since when it has been eligible. The oldest answer that the mark depends on came at since. The
// annotation counts once the watch has delivered it.
func (p *pipeline) mark(ctx context.Context, it item, m policy.EligibleSincePatch, since time.Time) *Outcome {
	outcome := Outcome{Result: Refused, Err: errors.New("objects of this kind cannot be marked"), Unsent: true}
	if marker, ok := p.reconciler.Remover.(Marker); ok {
		p.timed(ctx, it, func() { outcome = marker.Mark(ctx, p.kind.kind(), m, since) })
	}
	if !outcome.Unsent {
		p.reconciler.Observer.Attempted(outcome.Result)
	}
	switch outcome.Result {
	case Marked:
		p.marks.forget(it)
		return &outcome
	case Gone: // an API server that has not read its store yet answers 404; no watch event would correct that
	case Changed:
	default:
		p.delays.addFailure(it, nil, outcome, p.reconciler.Clock.Now())
		log.FromContext(ctx).V(p.logs.level("object not marked", outcome.Result.String(), p.reconciler.Clock.Now())).Info("object not marked", "kind", p.kind.index.Kind().Kind, "namespace", it.namespace,
			"name", m.Subject().Name, "uid", it.uid, "result", outcome.Result.String(), "err", outcome.Err.Error())
	}
	p.retry(it, p.marks.again(it, m.Subject().ResourceVersion, outcome.Result))
	if outcome.Result == Denied {
		return nil // deletions may still be permitted
	}
	return &outcome
}
