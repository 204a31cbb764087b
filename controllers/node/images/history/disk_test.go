// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/test/expect"
)

var (
	errCrash = errors.New("the node has crashed")
	errFull  = errors.New("no space left on device")
)

// disk simulates what a filesystem may do in a crash. Data that is not synced survives completely, partly, as zeros or not at
// all. Of the renames and removals since the last sync of the directory, only the first ones may survive.
type disk struct {
	names   map[string]*inode
	durable map[string]*inode
	pending []func(map[string]*inode)
	steps   int
	fail    func(step int, what string) error
	locked  bool
}

type inode struct{ data, synced []byte }

func newDisk() *disk {
	return &disk{names: map[string]*inode{}, durable: map[string]*inode{}}
}

func (d *disk) step(what string) error {
	d.steps++
	if d.fail == nil {
		return nil
	}
	return d.fail(d.steps, what)
}

// crashAt makes every step fail, starting with the given one.
func (d *disk) crashAt(step int) {
	d.steps, d.fail = 0, func(n int, _ string) error {
		if n >= step {
			return errCrash
		}
		return nil
	}
}

func (d *disk) fill() {
	d.fail = func(_ int, what string) error {
		if what == "write" {
			return errFull
		}
		return nil
	}
}

func (d *disk) crash(random *rand.Rand) {
	for _, op := range d.pending[:random.IntN(len(d.pending)+1)] {
		op(d.durable)
	}
	d.names = map[string]*inode{}
	for name, i := range d.durable {
		data := i.survive(random)
		d.names[name] = &inode{data, data}
	}
	d.durable, d.pending, d.fail, d.locked = maps.Clone(d.names), nil, nil, false
}

func (i *inode) survive(random *rand.Rand) []byte {
	switch part := i.data[:random.IntN(len(i.data)+1)]; {
	case slices.Equal(i.data, i.synced) || random.IntN(4) == 0:
		return i.synced
	case random.IntN(3) == 0:
		return make([]byte, len(part))
	case random.IntN(3) == 0:
		return i.data
	default:
		return slices.Clone(part)
	}
}

func (d *disk) do(op func(map[string]*inode)) {
	op(d.names)
	d.pending = append(d.pending, op)
}

func (d *disk) Lock() (io.Closer, error) {
	if d.locked {
		return nil, history.ErrLocked
	}
	err := d.step("lock")
	d.locked = err == nil
	return lock{d}, err
}

type lock struct{ *disk }

func (l lock) Close() error {
	l.locked = false
	return nil
}

func (d *disk) Read(name string) ([]byte, error) {
	if err := d.step("read"); err != nil {
		return nil, err
	}
	if i, ok := d.names[name]; ok {
		return i.data, nil
	}
	return nil, fs.ErrNotExist
}

func (d *disk) Create(name string) (history.File, error) {
	if err := d.step("create"); err != nil {
		return nil, err
	}
	i, ok := d.names[name]
	if !ok {
		i = &inode{}
		d.do(func(names map[string]*inode) { names[name] = i })
	}
	i.data = nil
	return &handle{d, i}, nil
}

func (d *disk) Rename(from, to string) error {
	if err := d.step("rename"); err != nil {
		return err
	}
	i, ok := d.names[from]
	if !ok {
		return fs.ErrNotExist
	}
	d.do(func(names map[string]*inode) {
		delete(names, from)
		names[to] = i
	})
	return nil
}

func (d *disk) Remove(name string) error {
	if err := d.step("remove"); err != nil {
		return err
	}
	if d.names[name] == nil {
		return fs.ErrNotExist
	}
	d.do(func(names map[string]*inode) { delete(names, name) })
	return nil
}

func (d *disk) Names() ([]string, error) {
	return slices.Collect(maps.Keys(d.names)), d.step("names")
}

func (d *disk) Sync() error {
	if err := d.step("sync directory"); err != nil {
		return err
	}
	d.durable, d.pending = maps.Clone(d.names), nil
	return nil
}

type handle struct {
	*disk
	*inode
}

func (h *handle) Write(p []byte) (int, error) {
	err := h.step("write")
	if err != nil {
		p = p[:len(p)/2]
	}
	h.data = append(h.data, p...)
	return len(p), err
}

func (h *handle) Sync() error {
	if err := h.step("sync"); err != nil {
		return err
	}
	h.synced = slices.Clone(h.data)
	return nil
}

func (h *handle) Close() error { return h.step("close") }

// told is so late that the time since prepare does not count.
var told = reading(9 * interval)

// tale returns what a store on a disk reports about two images, after one more listing without changes.
func tale(t *testing.T, d *disk) (a, b history.Record) {
	t.Helper()
	s := openOn(t, d, told)
	if s.AgesReset() != nil {
		t.Errorf("a crash has left a bad file: %v", s.AgesReset())
	}
	s.Observe(told, []history.Seen{{ID: "a"}, {ID: "b"}})
	a, _ = s.Of("a")
	b, _ = s.Of("b")
	return a, b
}

// prepare returns a store that knows two images. It has observed a use of one of them that is not saved.
func prepare(t *testing.T) (*disk, *history.Store) {
	t.Helper()
	d := newDisk()
	s := openOn(t, d, reading(0))
	for i := range 3 {
		at := reading(time.Duration(i) * interval)
		s.Observe(at, []history.Seen{{ID: "a"}, {ID: "b"}})
		expect.NoError(t, s.Save(at))
	}
	s.Removed("gone", reading(2*interval)) // also saves the new ages
	expect.NoError(t, s.Save(reading(2*interval)))
	s.Observe(reading(3*interval), []history.Seen{{ID: "a", InUse: true}, {ID: "b"}})
	d.steps = 0
	return d, s
}

const oldA, newA, oldB = 2*interval + 0, 0, 2 * interval

func TestCrashAtEveryStep(t *testing.T) {
	outcomes := map[bool]int{}
	for step := 1; ; step++ {
		for seed := range uint64(50) {
			d, s := prepare(t)
			d.crashAt(step)
			err := s.Save(reading(3 * interval))
			d.crash(rand.New(rand.NewPCG(seed, 0)))
			a, b := tale(t, d)
			isOld := unused(a, told) == oldA && unused(b, told) == oldB && a.LastUsed.IsZero()
			isNew := unused(a, told) == newA && unused(b, told) == oldB+interval && !a.LastUsed.IsZero()
			if !isOld && !isNew || err == nil && isOld {
				t.Errorf("step %d, seed %d: neither the old nor the new state: %+v and %+v after %v", step, seed, a, b, err)
			}
			outcomes[isNew]++
			if err == nil && seed == 49 {
				if outcomes[true] == 0 || outcomes[false] == 0 || step < 6 {
					t.Errorf("after %d steps: %v", step, outcomes)
				}
				return
			}
		}
	}
}

func TestSaveErrorLeavesNoOutdatedAge(t *testing.T) {
	for step := 1; ; step++ {
		d, s := prepare(t)
		d.fail = func(n int, _ string) error {
			if n == step {
				return errFull
			}
			return nil
		}
		err := s.Save(reading(3 * interval))
		if err == nil {
			if step < 6 {
				t.Errorf("there are only %d steps", step)
			}
			return
		}
		if !errors.Is(err, errFull) || !errors.Is(s.SaveError(), errFull) {
			t.Errorf("step %d: %v", step, err)
		}
		if a, ok := s.Of("b"); !ok || unused(a, reading(3*interval)) != 3*interval {
			t.Errorf("step %d: the store has lost its state: %+v", step, a)
		}
		for seed := range uint64(50) {
			d.crash(rand.New(rand.NewPCG(seed, 0)))
			if a, _ := tale(t, d); unused(a, told) != 0 {
				t.Errorf("step %d: a used image is reported as unused for %v", step, unused(a, told))
			}
			d.locked = false
		}
	}
}

func TestSaveIsRetriedAfterAFullDisk(t *testing.T) {
	d, s := prepare(t)
	d.fill()
	if err := s.Save(reading(3 * interval)); err == nil {
		t.Fatal("it was saved")
	}
	d.fail = nil
	expect.NoError(t, errors.Join(s.Save(reading(3*interval)), s.SaveError()))
	d.crash(rand.New(rand.NewPCG(1, 1)))
	if a, b := tale(t, d); unused(a, told) != newA || unused(b, told) != oldB+interval {
		t.Errorf("%+v and %+v", a, b)
	}
}
