// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestNamespaceThatHasNotCompiledForAWhileIsNext: the namespace is next although fifty others have ten waiting policies each.
func TestNamespaceThatHasNotCompiledForAWhileIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 300 * time.Millisecond
		var all turns
		var mu sync.Mutex
		waited := map[string][]time.Duration{}
		compile := func(namespace string) {
			began := time.Now()
			done, err := all.take(t.Context(), namespace)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			waited[namespace] = append(waited[namespace], time.Since(began))
			mu.Unlock()
			time.Sleep(takes)
			done()
		}
		for range 10 {
			for i := range 50 {
				go compile(fmt.Sprintf("flood-%d", i))
			}
		}
		for range 3 {
			synctest.Wait()
			time.Sleep(20 * time.Second)
			go compile("quiet")
			go compile("")
		}
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		for _, namespace := range []string{"quiet", ""} {
			if got := waited[namespace]; len(got) != 3 || slices.Max(got) > takes {
				t.Errorf("namespace %q waited for %s", namespace, got)
			}
		}
	})
}

func TestAbandonedTurnIsGivenToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		done, err := all.take(t.Context(), "a")
		expect.NoError(t, err)
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := all.take(short, "b"); err == nil {
			t.Error("two turns at a time")
		}
		done()
		if done, err = all.take(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		done()
		if len(all.waiting) > 0 || all.running[false] {
			t.Errorf("%d turns wait, running %v; want none", len(all.waiting), all.running)
		}
	})
}
