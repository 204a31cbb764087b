package index

import "github.com/sunset-k8s/sunset/policy"

// past answers what an earlier book would say of the row at hand. It is used with the index locked.
type past struct {
	index   *Index
	row     *Row
	pages   map[pastPlace]*page
	rulings []policy.Ruling // scratch
}

type pastPlace struct {
	place
	book *policy.Book
}

// was gives the row's subject and rulings as if the book were in force. Facts that rows no longer carry are not known. Where a rule
// ranks otherwise by now, it kept the subject: that is the answer which makes the most new.
func (p *past) was(book *policy.Book) (policy.Subject, []policy.Ruling) {
	x, row := p.index, p.row
	at := pastPlace{row.space.place, book}
	before := p.pages[at]
	if before == nil {
		before = &page{Page: book.Page(x.kind, at.namespace), known: book.Knows(at.namespace)}
		for _, r := range before.Rules {
			before.columns = append(before.columns, x.column(at.layout, r.Key))
		}
		p.pages[at] = before
	}
	p.rulings = p.rulings[:0]
	for i, r := range before.Rules {
		ruling := policy.Ruling{Rule: r, Standing: policy.Standing{Newest: r.Keep > 0}}
		if c := before.columns[i]; c >= 0 {
			ruling.Facts, ruling.Known = row.facts[c].unpack(), x.synced && before.known
		}
		for k, is := range row.space.page.Rules {
			if ranks := row.space.page.ranks[k]; is.ID == r.ID && ranks != nil && is.RanksAtLeastLike(r) {
				ruling.Standing = ranks.set.Standing(row.uid())
			}
		}
		p.rulings = append(p.rulings, ruling)
	}
	return before.See(row.Subject()), p.rulings
}
