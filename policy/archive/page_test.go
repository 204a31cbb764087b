// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPageHasEveryField: docs/reference/archive-format.md describes every field.
func TestPageHasEveryField(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/archive-format.md")
	expect.NoError(t, err)
	for _, of := range []reflect.Type{reflect.TypeFor[archive.Record](), reflect.TypeFor[archive.Log](), reflect.TypeFor[archive.Meta](),
		reflect.TypeFor[archive.Finished](), reflect.TypeFor[audit.Object]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "-" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("the page lacks %s", name)
			}
		}
	}
}
