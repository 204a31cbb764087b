package shifted

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Page is what a clock and who sets it share: a file that both have in memory.
type Page struct {
	// odd while it is written: whoever reads begins again then.
	sequence atomic.Int64
	step     atomic.Int64 // nanoseconds of the wall clock
	gained   atomic.Int64 // nanoseconds of both clocks until since
	rate     atomic.Int64 // nanoseconds a second, from since on
	since    atomic.Int64 // machine's time, in nanoseconds
}

// Open maps the file at a path, which is made if there is none, for as long as the process lives.
func Open(path string) (*Page, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
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

// Step moves the wall clock by what is given.
func (p *Page) Step(by time.Duration) {
	p.write(func() { p.step.Add(int64(by)) })
}

// Drift makes both clocks gain what is given in every second from now on.
func (p *Page) Drift(perSecond time.Duration) {
	p.write(func() {
		now := time.Now()
		p.gained.Store(int64(p.drifted(now)))
		p.since.Store(now.UnixNano())
		p.rate.Store(int64(perSecond))
	})
}

// write changes the page. Only one goroutine of one process may do so at a time.
func (p *Page) write(change func()) {
	p.sequence.Add(1)
	change()
	p.sequence.Add(1)
}

// Read is by how much the wall clock has been set, and what both clocks have gained, at a time of the machine.
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

// scaled is how long a timer must be by the machine's clock.
func (p *Page) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / (1 + time.Duration(p.rate.Load()).Seconds()))
}
