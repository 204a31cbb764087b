// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPageHasEveryField: docs/reference/audit-records.md describes every field of a record, of its objects and of its receipt.
func TestPageHasEveryField(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/audit-records.md")
	expect.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "\n## Fields\n")
	for _, of := range []reflect.Type{reflect.TypeFor[audit.Record](), reflect.TypeFor[audit.Object](), reflect.TypeFor[audit.Receipt]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(table, "`"+name+"`") {
				t.Errorf("the page lacks %s", name)
			}
		}
	}
}
