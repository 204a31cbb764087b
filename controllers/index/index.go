package index

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Index holds the subjects of one kind. Create it with New.
type Index struct {
	kind schema.GroupKind
	// wake is called, with the index locked, when the soonest due time has become earlier.
	wake func()

	mu       sync.Mutex
	book     *policy.Book
	listing  uint64         // which listing the rows belong to
	columns  map[string]int // facts key -> place in Row.Facts
	synced   bool
	rows     map[types.UID]*Row
	schedule schedule
	pages    map[string]*page // by namespace
	rulings  []policy.Ruling  // scratch
	version  uint64
}

// page is the rules that apply in one namespace, with the column that holds the facts of each; -1 for none.
type page struct {
	*policy.Page
	namespace string // the one copy that rows share
	columns   []int
}

// New makes an empty index that knows no rules. wake tells its owner to look at Next again; it must not block and must
// not call back.
func New(kind schema.GroupKind, wake func()) *Index {
	return &Index{
		kind:  kind,
		wake:  wake,
		book:  &policy.Book{},
		rows:  map[types.UID]*Row{},
		pages: map[string]*page{},
	}
}

// Kind is what the index is about.
func (x *Index) Kind() schema.GroupKind { return x.kind }

// SetBook puts other rules and namespaces in force. Only subjects whose rules differ are judged again.
func (x *Index) SetBook(book *policy.Book, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.pages
	x.book, x.pages = book, make(map[string]*page, len(before))
	changed := make(map[string]bool, len(before))
	for namespace, old := range before {
		changed[namespace] = !old.SameSettings(x.page(namespace).Page)
	}
	x.version++
	x.rejudge(now, func(r *Row) bool { return changed[r.Namespace] })
}

// Listing is a source of rows whose facts are all about the same rules. Its ID is never 0 and never used again.
type Listing struct {
	ID      uint64
	Columns []string // the facts keys of Row.Facts, in order
}

// Replace puts a complete listing in place of everything known. From then on only changes of that listing count.
func (x *Index) Replace(from Listing, rows []*Row, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.rows
	columns := from.Columns
	x.listing = from.ID
	x.columns = make(map[string]int, len(columns))
	for i, key := range columns {
		x.columns[key] = i
	}
	x.rows = make(map[types.UID]*Row, len(rows))
	x.pages = map[string]*page{}
	for _, row := range rows {
		row.Namespace = x.page(row.Namespace).namespace
		if old := known[row.UID]; old != nil && old.ResourceVersion == row.ResourceVersion {
			row.gone = old.gone
		}
		x.rows[row.UID] = row
	}
	x.synced = true
	x.version++
	x.schedule = x.schedule[:0]
	for _, row := range rows {
		row.slot = 0
		x.judgeForLater(row, now)
		if !row.due.IsZero() {
			x.schedule = append(x.schedule, row)
			row.slot = int32(len(x.schedule))
		}
	}
	heap.Init(&x.schedule)
	x.wake()
}

// Apply takes in a subject that was added or has changed.
func (x *Index) Apply(from Listing, row *Row, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing != from.ID {
		return
	}
	row.Namespace = x.page(row.Namespace).namespace
	if old := x.rows[row.UID]; old != nil {
		row.gone = old.gone && old.ResourceVersion == row.ResourceVersion
		x.unschedule(old)
	}
	x.rows[row.UID] = row
	x.version++
	x.judgeForLater(row, now)
	x.reschedule(row)
}

// Forget drops a subject that is gone.
func (x *Index) Forget(from Listing, uid types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing != from.ID {
		return
	}
	if old := x.rows[uid]; old != nil {
		x.unschedule(old)
		delete(x.rows, uid)
		x.version++
	}
}

// Distrust records that the index may be missing something: everything is kept until the next Replace.
func (x *Index) Distrust(from Listing) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing != from.ID {
		return
	}
	x.synced = false
	x.version++
}

// Next is when the soonest subject is due; ok is false when none will be without a change.
func (x *Index) Next() (due time.Time, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.schedule) == 0 {
		return time.Time{}, false
	}
	return x.schedule[0].due, true
}

// takeAtMost bounds how long TakeDue holds the index.
const takeAtMost = 512

// TakeDue hands over what is due, the soonest first and not necessarily all, and forgets when it was: the taker judges
// each and, if it is not removed, gives it back with Reconsider.
func (x *Index) TakeDue(now time.Time, take func(policy.Subject, policy.RuleID)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for range takeAtMost {
		if len(x.schedule) == 0 || x.schedule[0].due.After(now) {
			return
		}
		row := heap.Pop(&x.schedule).(*Row)
		verdict, _ := x.judge(row, now)
		switch {
		case row.gone:
		case verdict.Action == policy.Delete:
			take(row.Subject, verdict.Rule)
		case verdict.Action == policy.Wait:
			row.due = verdict.Due
			x.reschedule(row)
		}
	}
}

// Judge says what happens to a subject now. ok is false when it is not known, or when this version was removed.
func (x *Index) Judge(uid types.UID, now time.Time) (verdict policy.Verdict, warrant policy.Warrant, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[uid]
	if row == nil || row.gone {
		return policy.Verdict{}, policy.Warrant{}, false
	}
	verdict, warrant = x.judge(row, now)
	return verdict, warrant, true
}

// Reconsider puts a subject that was taken back on the schedule, should it still have a due time.
func (x *Index) Reconsider(uid types.UID, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows[uid]; row != nil {
		x.unschedule(row)
		x.judgeForLater(row, now)
		x.reschedule(row)
	}
}

// MarkGone records that a DELETE of this version succeeded: it is not judged again unless a newer version turns up.
func (x *Index) MarkGone(s policy.Subject) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows[s.UID]; row != nil && row.ResourceVersion == s.ResourceVersion {
		row.gone = true
		x.unschedule(row)
		x.version++
	}
}

// Len is how many subjects are known, and whether they are all there are.
func (x *Index) Len() (subjects int, synced bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.rows), x.synced
}

// Has reports whether the rows carry facts under the key.
func (x *Index) Has(key string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.columns[key]
	return ok && x.synced
}

// Version changes whenever what Scan would show has changed.
func (x *Index) Version() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

// Scan shows every subject that has not been removed with what each rule about it says. visit must be quick and must
// not keep the rulings.
func (x *Index) Scan(visit func(policy.Subject, []policy.Ruling)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, row := range x.rows {
		if !row.gone {
			visit(row.Subject, x.rule(row))
		}
	}
}

func (x *Index) rejudge(now time.Time, concerned func(*Row) bool) {
	for _, row := range x.rows {
		if concerned(row) {
			x.unschedule(row)
			x.judgeForLater(row, now)
			x.reschedule(row)
		}
	}
}

// judgeForLater sets when to look at the row again.
func (x *Index) judgeForLater(row *Row, now time.Time) {
	row.due = time.Time{}
	if verdict, _ := x.judge(row, now); verdict.Action != policy.Keep && !row.gone {
		row.due = verdict.Due
	}
}

func (x *Index) judge(row *Row, now time.Time) (policy.Verdict, policy.Warrant) {
	rulings := x.rule(row)
	if !x.synced || !x.book.Knows(row.Namespace) {
		for i := range rulings {
			rulings[i].Known = false
		}
	}
	return policy.Decide(row.Subject, rulings, now)
}

// rule lists what each rule that applies says about the row. The slice is valid until the next call.
func (x *Index) rule(row *Row) []policy.Ruling {
	p := x.page(row.Namespace)
	x.rulings = x.rulings[:0]
	for i, r := range p.Rules {
		ruling := policy.Ruling{Rule: r}
		if c := p.columns[i]; c >= 0 && c < len(row.Facts) {
			ruling.Facts, ruling.Known = row.Facts[c], true
		}
		x.rulings = append(x.rulings, ruling)
	}
	return x.rulings
}

func (x *Index) page(namespace string) *page {
	p := x.pages[namespace]
	if p == nil {
		p = &page{Page: x.book.Page(x.kind, namespace), namespace: namespace}
		for _, r := range p.Rules {
			column, ok := x.columns[r.Key]
			if !ok {
				column = -1
			}
			p.columns = append(p.columns, column)
		}
		x.pages[namespace] = p
	}
	return p
}

func (x *Index) unschedule(row *Row) {
	if row.slot > 0 {
		heap.Remove(&x.schedule, int(row.slot-1))
	}
}

func (x *Index) reschedule(row *Row) {
	if row.due.IsZero() {
		return
	}
	heap.Push(&x.schedule, row)
	if x.schedule[0] == row {
		x.wake()
	}
}
