// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestThrottledNamespacesTakeTurns, regardless of the number of policies in each. In a namespace, its policies take turns.
func TestThrottledNamespacesTakeTurns(t *testing.T) {
	throttle := newThrottle(clock.RealClock{}, 1000) // its workers never start
	park := func(namespace, policy string, uid types.UID) {
		throttle.park(item{namespace, uid}, queueKey{namespace: namespace, policy: policy}, false, func() {})
	}
	for policy := range 3 {
		for object := range 2 {
			park("busy", fmt.Sprint(policy), types.UID(fmt.Sprint(policy, "/", object)))
		}
	}
	park("quiet", "0", "only")
	var order []string
	for range 7 {
		it, _, _, _ := throttle.take()
		order = append(order, it.namespace+" "+string(it.uid))
	}
	expect.Equal(t, "order", []string{"busy 0/0", "quiet only", "busy 1/0", "busy 2/0", "busy 0/1", "busy 1/1", "busy 2/1"}, order)
}
