// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// readiness checks that the RetentionArchives and RetentionDigests of the cluster are ready, if there are any.
func (i *installation) readiness(ctx context.Context) (checks []Check) {
	for _, kind := range []cluster.Kind{cluster.ArchiveKind, cluster.DigestKind} {
		name := strings.TrimPrefix(kind.Resource.Resource, "retention")
		objects, err := i.Objects(ctx, kind, "")
		if err != nil {
			checks = append(checks, unreadable(name, err))
		} else if len(objects) > 0 {
			checks = append(checks, areReady(name, kind, objects))
		}
	}
	return checks
}

func areReady(name string, kind cluster.Kind, objects []map[string]any) Check {
	var wrong []string
	for _, object := range objects {
		var o struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Status   struct {
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &o); err != nil {
			return unreadable(name, err)
		}
		if reason := whyNotReady(o.Status.Conditions); reason != "" {
			wrong = append(wrong, fmt.Sprintf("%s (%s)", o.Metadata.Name, reason))
		}
	}
	if len(wrong) > 0 {
		return Check{name, Warn, fmt.Sprintf("%d of %d %ss are not ready: %s", len(wrong), len(objects), kind.Kind, first(wrong)),
			"their conditions name the cause: kubectl describe " + kind.Resource.Resource}
	}
	return Check{Name: name, Result: Pass, Message: fmt.Sprintf("%d of %d %ss are ready", len(objects), len(objects), kind.Kind)}
}

// whyNotReady returns the reason of condition Ready; empty if it is True.
func whyNotReady(conditions []metav1.Condition) string {
	switch ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); {
	case ready == nil:
		return "Unknown"
	case ready.Status == metav1.ConditionTrue:
		return ""
	default:
		return ready.Reason
	}
}
