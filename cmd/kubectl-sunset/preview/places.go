package preview

import (
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// places knows which rules apply where, in namespaces that nobody has described too.
type places struct {
	in   Input
	book *policy.Book

	mu      sync.Mutex
	strange map[string]*policy.Book // a book for each namespace that is not among the known ones
}

func newPlaces(in Input) *places {
	return &places{
		in:      in,
		book:    policy.NewBook(in.Policies, in.Namespaces, in.Protection),
		strange: map[string]*policy.Book{},
	}
}

// page is the rules that apply to a kind in a namespace.
func (p *places) page(kind schema.GroupKind, namespace string) *policy.Page {
	if p.book.Knows(namespace) {
		return p.book.Page(kind, namespace)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	book := p.strange[namespace]
	if book == nil {
		only := map[string]policy.Namespace{namespace: p.namespace(namespace)}
		book = policy.NewBook(p.in.Policies, only, p.in.Protection)
		p.strange[namespace] = book
	}
	return book.Page(kind, namespace)
}

// namespace is one that is known, or what is sure of any other.
func (p *places) namespace(name string) policy.Namespace {
	if known, ok := p.in.Namespaces[name]; ok || name == "" {
		return known
	}
	return policy.Namespace{Labels: labels.Set{"kubernetes.io/metadata.name": name}}
}

// ranking is how a rule ranks, in namespaces that nobody has described too.
func (p *places) ranking(kind schema.GroupKind, id policy.RuleID) policy.Ranking {
	ranking := p.book.Ranking(kind, id)
	ranking.Room = func(namespace string) policy.Room { return p.page(kind, namespace).Room(id) }
	return ranking
}
