package retention_test

import (
	"fmt"
	"testing"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestThrottledNamespacesTakeTurns, regardless of the number of policies in each. In a namespace, its policies take turns.
func TestThrottledNamespacesTakeTurns(t *testing.T) {
	throttle := retention.NewThrottle(clock.RealClock{}, 1000)
	for policy := range 3 {
		for object := range 2 {
			throttle.Park("busy", fmt.Sprint(policy), fmt.Sprint(policy, "/", object))
		}
	}
	throttle.Park("quiet", "0", "only")
	var order []string
	for range 7 {
		namespace, uid := throttle.Take()
		order = append(order, namespace+" "+uid)
	}
	expect.Equal(t, "order", []string{"busy 0/0", "quiet only", "busy 1/0", "busy 2/0", "busy 0/1", "busy 1/1", "busy 2/1"}, order)
}
