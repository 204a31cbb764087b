// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"runtime/debug"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
)

// store passes what the reflector sees to a sink. It implements cache.ReflectorStore.
type store struct{ sink retention.Sink }

func (s store) Add(obj any) error {
	if row := obj.(*observation).row; row != nil {
		s.sink.Apply(row)
	}
	return nil
}

func (s store) Update(obj any) error { return s.Add(obj) }

func (s store) Delete(obj any) error {
	if row := obj.(*observation).row; row != nil {
		s.sink.Forget(row.Subject().UID)
	}
	return nil
}

func (s store) Replace(list []any, _ string) error {
	rows := rowsOf(list)
	s.sink.Replace(rows)
	if len(rows) >= manyRows {
		debug.FreeOSMemory()
	}
	return nil
}

// rowsOf returns the rows of the subjects in a list of observations.
func rowsOf[T any](list []T) []*index.FactRow {
	subjects := subjectsOf(list)
	rows := make([]*index.FactRow, len(subjects))
	for i, o := range subjects {
		rows[i] = o.row
	}
	return rows
}

// subjectsOf returns the observations of subjects in a list of observations.
func subjectsOf[T any](list []T) []*observation {
	subjects := make([]*observation, 0, len(list))
	for _, o := range list {
		if o := any(o).(*observation); o.row != nil {
			subjects = append(subjects, o)
		}
	}
	return subjects
}

func (s store) Resync() error { return nil }

// manyRows is the size of a listing after which memory is freed at once. Few allocations follow a listing, so its garbage would
// otherwise stay for minutes.
const manyRows = 10_000
