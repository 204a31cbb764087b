// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// resolveOwnerTarget reads the owner to delete as it is now, and checks that the rule may delete it. A user who can write the subject can
// write any owner reference into it, so only the content of the owner itself counts.
func (c *Cluster) resolveOwnerTarget(ctx context.Context, i policy.Intent) (policy.Target, *retention.Outcome) {
	owner := i.Owner
	if owner == nil {
		return policy.Target{}, refused("the rule deletes the owner of the object, and the object has none")
	}
	mapping, blocked := c.resolveOwner(ctx, owner)
	if blocked != nil {
		return policy.Target{}, blocked
	}
	t := policy.Target{Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		t.Namespace = i.Subject.Namespace
	}
	if blocked := c.outOfReach(i, mapping, t); blocked != nil {
		return policy.Target{}, blocked
	}
	object, blocked := c.read(ctx, mapping, t)
	if blocked != nil {
		return policy.Target{}, blocked
	}
	s, err := engine.SubjectOf(object)
	if err != nil {
		return policy.Target{}, refused("owner %s: %v", owner, err)
	}
	if blocked := checkOwner(i, t, s, object); blocked != nil {
		return policy.Target{}, blocked
	}
	t.ResourceVersion = s.ResourceVersion
	return t, nil
}

func refused(format string, args ...any) *retention.Outcome {
	return &retention.Outcome{Result: retention.Refused, Err: fmt.Errorf(format, args...)}
}

// resolveOwner finds the resource that serves the owner's kind, and refuses a kind that Sunset must not delete.
func (c *Cluster) resolveOwner(ctx context.Context, owner *policy.Owner) (*meta.RESTMapping, *retention.Outcome) {
	if c.protection.Kind(owner.Kind.GroupKind()) {
		return nil, refused("owner %s: %s is a protected kind", owner, owner.Kind.GroupKind())
	}
	if c.isServedHere(owner.Kind) {
		if mapping, err := c.mapper.RESTMapping(owner.Kind.GroupKind(), owner.Kind.Version); err == nil {
			return mapping, nil
		}
	}
	mapping, sourceErr, err := c.resolve(ctx, owner.Kind)
	switch {
	case err != nil:
		return nil, &retention.Outcome{Err: err}
	case sourceErr != nil:
		return nil, refused("owner %s: %s", owner, sourceErr.Message)
	}
	c.noteServedHere(owner.Kind)
	return mapping, nil
}

// isServedHere reports whether the API server itself was found to serve a kind less than allowedEvery ago.
func (c *Cluster) isServedHere(kind schema.GroupVersionKind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.servedHere[kind.GroupVersion()]
	return known && lease.Elapsed(c.clock.Now(), at) < allowedEvery
}

func (c *Cluster) noteServedHere(kind schema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servedHere == nil {
		c.servedHere = map[schema.GroupVersion]time.Time{}
	}
	c.servedHere[kind.GroupVersion()] = c.clock.Now()
}

// outOfReach refuses an owner that is outside of the scope of the rule, or in a protected namespace.
func (c *Cluster) outOfReach(i policy.Intent, mapping *meta.RESTMapping, t policy.Target) *retention.Outcome {
	switch {
	case t.Namespace == "" && i.Rule.Namespace != "":
		return refused("owner %s is cluster-scoped, and the rules of a RetentionPolicy apply only in its namespace", i.Owner)
	case t.Namespace == "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		return refused("owner %s is namespaced, and the object that it owns is cluster-scoped", i.Owner)
	case c.protection.Namespace(t.Namespace):
		return refused("owner %s is in a protected namespace", i.Owner)
	}
	return nil
}

// read returns an object as it is now; of a Secret, only the metadata.
func (c *Cluster) read(ctx context.Context, mapping *meta.RESTMapping, t policy.Target) (map[string]any, *retention.Outcome) {
	accept := listwatch.AcceptJSON
	if isSecret(t.Kind) {
		accept = listwatch.AcceptMetadata
	}
	data, blocked := c.get(ctx, mapping, t, accept)
	if blocked != nil {
		return nil, blocked
	}
	object := map[string]any{}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		return nil, &retention.Outcome{Err: fmt.Errorf("read %s %s: %w", t.Kind.Kind, t.Name, err)}
	}
	object["apiVersion"], object["kind"] = t.Kind.GroupVersion().String(), t.Kind.Kind
	return object, nil
}

// get reads an object without any cache. If the read fails, the Outcome says why; it is never Unsure, because a read changes
// nothing.
func (c *Cluster) get(ctx context.Context, mapping *meta.RESTMapping, t policy.Target, accept string) ([]byte, *retention.Outcome) {
	a, err := c.ask(ctx, mapping, t, request{method: http.MethodGet, accept: accept})
	switch {
	case err != nil:
		return nil, &retention.Outcome{Err: fmt.Errorf("read %s %s: %w", t.Kind.Kind, t.Name, err)}
	case a.code == http.StatusOK:
		return a.body, nil
	}
	o := a.outcome()
	o.Unsure = false
	if o.Result == retention.Removed {
		o.Result = retention.Failed
	}
	o.Err = fmt.Errorf("read %s %s: %w", t.Kind.Kind, t.Name, o.Err)
	return nil, &o
}

var errOwnerLeaves = errors.New("the owner is deleted or terminating, and garbage collection deletes the objects that it owns")

// checkOwner checks the owner itself, read as s. It returns the Outcome that prevents the deletion, or nil. If the owner is gone or
// terminating, garbage collection deletes the subject.
func checkOwner(i policy.Intent, t policy.Target, s policy.Subject, object map[string]any) *retention.Outcome {
	owner := i.Owner
	switch {
	case s.UID != t.UID, s.Flags.Has(policy.IsTerminating):
		return &retention.Outcome{Result: retention.Gone, Err: errOwnerLeaves}
	case s.Name != t.Name, s.Namespace != t.Namespace, s.ResourceVersion == "":
		return refused("owner %s: the API server returned another object", owner)
	}
	// Outside of the subject's namespace no rule may delete an unfinished or managed owner: a user with write permission in one
	// namespace could name any cluster-scoped object as the owner.
	beyond := t.Namespace != i.Subject.Namespace
	allowed := engine.Allowed{}
	if !beyond {
		allowed = engine.Allowed{Unfinished: i.Rule.AllowUnfinished, Managed: i.Rule.AllowManaged}
	}
	switch err := engine.CheckOwnerDeletion(object, allowed); {
	case errors.Is(err, engine.ErrUnfinished) && beyond:
		return refused("owner %s %w, and is cluster-scoped, but the object that it owns is namespaced", owner, err)
	case errors.Is(err, engine.ErrUnfinished):
		return refused("owner %s %w; set allowUnfinishedOwner: true to delete it anyway", owner, err)
	case errors.Is(err, engine.ErrManaged) && !beyond:
		return refused("owner %s %w; set allowManaged: true to delete it anyway", owner, err)
	case err != nil:
		return refused("owner %s %w", owner, err)
	}
	return nil
}

// subjectTimeout limits the read of a subject before the deletion of its owner, and so how old the response can be.
const subjectTimeout = 3 * time.Second

// unchanged checks that the subject is still the version that was evaluated, and returns nil if so. The Outcome says that the
// subject has changed, or that this is unknown.
func (c *Cluster) unchanged(ctx context.Context, w policy.DeletePermit) *retention.Outcome {
	ctx, cancel := context.WithTimeout(ctx, subjectTimeout)
	defer cancel()
	t := policy.TargetOf(w.Rule().Kind, w.Subject())
	mapping, err := c.mapper.RESTMapping(t.Kind.GroupKind(), t.Kind.Version)
	if err != nil {
		return &retention.Outcome{Err: err}
	}
	data, blocked := c.get(ctx, mapping, t, listwatch.AcceptMetadata+","+listwatch.AcceptJSON)
	if blocked != nil {
		return blocked
	}
	subject := metav1.PartialObjectMetadata{}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &subject); err != nil {
		return &retention.Outcome{Err: fmt.Errorf("read %s %s: %w", t.Kind.Kind, t.Name, err)}
	}
	switch {
	case subject.UID != t.UID:
		return &retention.Outcome{Result: retention.Gone, Err: errors.New("another object now has its name")}
	case subject.ResourceVersion != t.ResourceVersion:
		return &retention.Outcome{Result: retention.Changed, Err: errors.New("the object has changed since it was evaluated")}
	}
	return nil
}
