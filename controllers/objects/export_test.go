package objects

import (
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
)

// OutcomeOf is what an answer to a DELETE means.
var OutcomeOf = outcomeOf

// TroubleOf is what a failed list or watch means to people.
var TroubleOf = troubleOf

// PageSize is how many objects one page of a list has.
const PageSize = pageSize

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

// Events reads a watch.
func (d Decoder) Events(body io.ReadCloser) watch.Decoder { return newStream(body, d.decoder) }

// Close ends the decoder.
func (d Decoder) Close() { d.close() }

// RowOf is the row of an observed object; nil for none.
func RowOf(o runtime.Object) *index.Row { return o.(*observation).row }

// Page decodes a page: the names of its rows, and where it goes on.
func (d Decoder) Page(data string) (names []string, next string, err error) {
	list, err := newStream(io.NopCloser(strings.NewReader(data)), d.decoder).page()
	if err != nil {
		return nil, "", err
	}
	for _, o := range list.Items {
		if row := o.(*observation).row; row != nil {
			names = append(names, row.Subject().Name)
		}
	}
	return names, list.Continue, nil
}

// MetadataOnly reports whether a source that asks this watches no more than metadata.
func MetadataOnly(q retention.Questions) bool { return (&source{asks: q}).metadataOnly() }

var _ retention.Source = (*source)(nil)
