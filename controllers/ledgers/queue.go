package ledgers

import "slices"

// queue holds the requests that wait to be recorded. Namespaces take turns, so that none waits for the backlog of another.
type queue struct {
	waiting map[string][]*request // by namespace
	turns   []string              // namespaces with waiting requests
	len     int
}

func (l *queue) push(r *request) {
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

// pop returns the next request of an admitted namespace; nil if none is waiting. The other namespaces keep their turns.
func (l *queue) pop(admits func(namespace string) bool) *request {
	turn := slices.IndexFunc(l.turns, admits)
	if turn < 0 {
		return nil
	}
	namespace := l.turns[turn]
	if turn == 0 {
		l.turns = l.turns[1:] // without copying
	} else {
		l.turns = slices.Delete(l.turns, turn, turn+1)
	}
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

// retain drops the requests for which keep returns false.
func (l *queue) retain(keep func(*request) bool) {
	var all []*request
	everyone := func(string) bool { return true }
	for r := l.pop(everyone); r != nil; r = l.pop(everyone) {
		all = append(all, r)
	}
	for _, r := range all {
		if keep(r) {
			l.push(r)
		}
	}
}
