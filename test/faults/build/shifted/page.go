// SPDX-License-Identifier: Apache-2.0

package shifted

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Page is shared by a clock and the process that sets it: a file that both map into memory.
type Page struct {
	// sequence is odd during a write; a reader then starts again.
	sequence atomic.Int64
	step     atomic.Int64 // of the wall clock, in nanoseconds
	gained   atomic.Int64 // by both clocks until since, in nanoseconds
	rate     atomic.Int64 // in nanoseconds per second, from since on
	since    atomic.Int64 // machine's time, in nanoseconds
}

// Open maps the file at a path for the life of the process, and creates it if it is missing.
func Open(path string) (*Page, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	size := int(unsafe.Sizeof(Page{}))
	if err := file.Truncate(int64(size)); err != nil {
		return nil, err
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return (*Page)(unsafe.Pointer(&memory[0])), nil
}

// Step moves the wall clock.
func (p *Page) Step(by time.Duration) {
	p.write(func() { p.step.Add(int64(by)) })
}

// Drift makes both clocks gain the given duration in each second from now on.
func (p *Page) Drift(perSecond time.Duration) {
	p.write(func() {
		now := time.Now()
		p.gained.Store(int64(p.drifted(now)))
		p.since.Store(now.UnixNano())
		p.rate.Store(int64(perSecond))
	})
}

// write changes the page. Only one goroutine of one process may call it at a time.
func (p *Page) write(change func()) {
	p.sequence.Add(1)
	change()
	p.sequence.Add(1)
}

// Read returns how far the wall clock has been set, and what both clocks have gained, at a time of the machine.
func (p *Page) Read(now time.Time) (step, gained time.Duration) {
	for {
		before := p.sequence.Load()
		step, gained = time.Duration(p.step.Load()), p.drifted(now)
		if before%2 == 0 && p.sequence.Load() == before {
			return step, gained
		}
	}
}

func (p *Page) drifted(now time.Time) time.Duration {
	elapsed := time.Duration(now.UnixNano() - p.since.Load())
	return time.Duration(p.gained.Load()) + time.Duration(elapsed.Seconds()*float64(p.rate.Load()))
}

// scaled returns the duration of a timer by the machine's clock.
func (p *Page) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / (1 + time.Duration(p.rate.Load()).Seconds()))
}
