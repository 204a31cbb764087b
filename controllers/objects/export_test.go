package objects

import (
	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
)

// OutcomeOf is what an answer to a DELETE means.
var OutcomeOf = outcomeOf

// TroubleOf is what a failed list or watch means to people.
var TroubleOf = troubleOf

// Decoder decodes objects of a kind into facts for the tests.
type Decoder struct{ *decoder }

// NewDecoder makes one.
func NewDecoder(q retention.Questions, e *engine.Evaluator) Decoder { return Decoder{newDecoder(q, e)} }

// Ask changes what it asks.
func (d Decoder) Ask(q retention.Questions) { d.ask(q) }

// Object decodes one object.
func (d Decoder) Object(data string) (*index.Row, error) {
	o, err := d.object([]byte(data))
	if err != nil {
		return nil, err
	}
	return o.row, nil
}

// Deleted decodes an object that is gone.
func (d Decoder) Deleted(data string) (*index.Row, error) {
	o, err := d.decoder.Deleted([]byte(data))
	if err != nil {
		return nil, err
	}
	return o.(*observation).row, nil
}

// Close ends the decoder.
func (d Decoder) Close() { d.close() }

// MetadataOnly reports whether a source that asks this watches no more than metadata.
func MetadataOnly(q retention.Questions) bool { return (&source{asks: q}).metadataOnly() }

var _ retention.Source = (*source)(nil)
