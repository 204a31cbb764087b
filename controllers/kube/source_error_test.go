// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube"
)

func TestSourceErrorOf(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	group := resource.GroupResource()
	tests := map[string]struct {
		err    error
		reason string // empty for none
		says   string
	}{
		"no error":          {nil, "", ""},
		"forbidden":         {apierrors.NewForbidden(group, "", errors.New("no")), "Forbidden", `Sunset has no permission to list and watch jobs.batch; grant its ServiceAccount the verbs list, watch`},
		"wrapped":           {fmt.Errorf("list: %w", apierrors.NewForbidden(group, "", errors.New("no"))), "Forbidden", "jobs.batch"},
		"not found":         {apierrors.NewNotFound(group, ""), "KindNotFound", "jobs.batch cannot be listed"},
		"not listable":      {apierrors.NewMethodNotSupported(group, "list"), "KindNotFound", "jobs.batch cannot be listed"},
		"expired":           {apierrors.NewResourceExpired("old"), "", ""},
		"an internal error": {apierrors.NewInternalError(errors.New("etcd")), "ListFailed", "etcd"},
		"no response":       {errors.New("connection refused"), "ListFailed", "connection refused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := kube.SourceErrorOf(test.err, resource)
			if test.reason == "" {
				if got != nil {
					t.Errorf("source error %+v, want none", got)
				}
				return
			}
			if got == nil || got.Reason != test.reason || !strings.Contains(got.Message, test.says) {
				t.Errorf("source error %+v, want %s with message %q", got, test.reason, test.says)
			}
		})
	}
}
