package objects

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// removeTimeout bounds one DELETE, and so how long stopping may take. What is not answered by then may or may not have
// happened; the watch tells.
const removeTimeout = 20 * time.Second

var errNoWarrant = errors.New("nothing is deleted without a warrant")

// Remove implements retention.Remover: one DELETE that the API server refuses unless the object is exactly the version
// the warrant names.
func (c *Cluster) Remove(ctx context.Context, kind schema.GroupVersionKind, w policy.Warrant) retention.Outcome {
	if !w.Valid() {
		return retention.Outcome{Result: retention.Refused, Err: errNoWarrant}
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return retention.Outcome{Err: err}
	}
	subject := w.Subject()
	propagation := w.Rule().Propagation
	body, err := json.Marshal(&metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: &subject.UID, ResourceVersion: &subject.ResourceVersion},
		PropagationPolicy: &propagation,
	})
	if err != nil {
		return retention.Outcome{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	// Retries are ours to pace: the object may have changed, and others may be waiting.
	err = c.rest.Delete().AbsPath(path(mapping, subject.Namespace, subject.Name)...).MaxRetries(0).
		SetHeader("Content-Type", acceptJSON).SetHeader("Accept", acceptJSON).Body(body).Do(ctx).Error()
	return outcomeOf(err)
}

func outcomeOf(err error) retention.Outcome {
	o := retention.Outcome{Err: err}
	var status apierrors.APIStatus
	switch {
	case err == nil:
		o.Result = retention.Removed
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		o.Result = retention.Gone // the object; a server that does not know the resource says so in other words
	case apierrors.IsConflict(err):
		o.Result = retention.Changed
	case !errors.As(err, &status), apierrors.IsNotFound(err):
		o.Result = retention.Failed
	case status.Status().Code == http.StatusTooManyRequests || status.Status().Code >= http.StatusInternalServerError:
		o.Result = retention.Busy
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			o.RetryAfter = time.Duration(seconds) * time.Second
		}
	default:
		o.Result = retention.Refused
	}
	return o
}
