package upgrade_test

import "testing"

// TestEveryFormatIsRead: -record adds a format first.
func TestEveryFormatIsRead(t *testing.T) {
	if *recordAs != "" {
		record(t, *recordAs, *recordFrom)
	}
}
