// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
)

// Observe implements ledgers.Objects. It reads the metadata of an object without any cache. It returns an error if the kind is not
// served, because the object may still exist.
func (c *Cluster) Observe(ctx context.Context, t policy.Target) (ledger.Observation, error) {
	mapping, err := c.mapper.RESTMapping(t.Kind.GroupKind(), t.Kind.Version)
	if err != nil {
		return ledger.Observation{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	data, err := c.rest.Get().AbsPath(path(mapping, t.Namespace, t.Name)...).SetHeader("Accept", listwatch.AcceptMetadata).Do(ctx).Raw()
	if apierrors.IsNotFound(err) && isAbout(t, data) {
		return ledger.Observation{Absent: true}, nil
	}
	if err != nil {
		return ledger.Observation{}, err
	}
	object := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(data, object); err != nil {
		return ledger.Observation{}, fmt.Errorf("read %s %s/%s: %w", t.Kind.Kind, t.Namespace, t.Name, err)
	}
	return ledger.ObservationOf(object), nil
}

// isAbout reports whether a NotFound response is about the object and not about its kind: only the former names the object. The
// error of client-go does not have these details.
func isAbout(t policy.Target, answer []byte) bool {
	status := statusOf(http.StatusNotFound, answer)
	return status.Reason == metav1.StatusReasonNotFound && status.Details != nil && status.Details.Name == t.Name
}
