package ledgers

// line is who waits to be written down: the namespaces take turns, so that none waits for the backlog of another.
type line struct {
	waiting map[string][]*request // by namespace
	turns   []string              // the namespaces that have somebody waiting
	len     int
}

func (l *line) push(r *request) {
	if l.waiting == nil {
		l.waiting = map[string][]*request{}
	}
	namespace := r.subject.Namespace
	if len(l.waiting[namespace]) == 0 {
		l.turns = append(l.turns, namespace)
	}
	l.waiting[namespace] = append(l.waiting[namespace], r)
	l.len++
}

// pop gives the next; nil when nobody waits.
func (l *line) pop() *request {
	if len(l.turns) == 0 {
		return nil
	}
	namespace := l.turns[0]
	l.turns = l.turns[1:]
	all := l.waiting[namespace]
	first, rest := all[0], all[1:]
	if len(rest) == 0 {
		delete(l.waiting, namespace)
	} else {
		l.waiting[namespace] = rest
		l.turns = append(l.turns, namespace)
	}
	l.len--
	return first
}

// retain drops all that keep does not want.
func (l *line) retain(keep func(*request) bool) {
	var all []*request
	for r := l.pop(); r != nil; r = l.pop() {
		all = append(all, r)
	}
	for _, r := range all {
		if keep(r) {
			l.push(r)
		}
	}
}
