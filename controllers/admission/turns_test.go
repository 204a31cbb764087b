package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestReviewsOfANamespaceTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done, err := all.take(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := all.take(short, "a"); err == nil {
			t.Error("two of a namespace at a time")
		}
		other, err := all.take(ctx, "b")
		if err != nil {
			t.Fatalf("another namespace: %v", err)
		}
		other()
		done()
		if done, err = all.take(ctx, "a"); err != nil {
			t.Fatalf("the next of the namespace: %v", err)
		}
		done()
		if len(all.waiting) > 0 {
			t.Errorf("nobody waits, and %d namespaces are remembered", len(all.waiting))
		}
	})
}
