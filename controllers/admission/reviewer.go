// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// answerWithin is less than the timeout of the webhook, so that the author sees which step took too long.
	answerWithin = 8 * time.Second
	// warnWithin limits the time of the checks for warnings.
	warnWithin = 3 * time.Second
)

// Kinds returns the kinds that the cluster serves. A discovery client implements it.
type Kinds interface {
	ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// Reviewer handles admission requests for both kinds of policies, and for RetentionArchives. All exported fields are required. It needs its own Compiler,
// so that reviewed rules evict no active rules from the cache.
type Reviewer struct {
	Compiler   *engine.Compiler
	Protection policy.Protection
	Mapper     meta.RESTMapper // must find kinds that are added later
	Kinds      Kinds
	Documents  openapi.Client
	Live       client.Reader
	// CreateReview fills in the status of a review.
	CreateReview func(context.Context, *authorizationv1.SubjectAccessReview) error

	turns       turns // for compilation
	looking     turns // for warnings, which need schemas
	discovering turns // for the discovery of all kinds
}

var _ admission.Handler = (*Reviewer)(nil)

// Handle implements admission.Handler.
func (r *Reviewer) Handle(ctx context.Context, req admission.Request) admission.Response {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if req.Kind.Kind == v1alpha1.RetentionArchiveKind.Kind {
		return r.reviewArchive(ctx, req)
	}
	review, err := r.read(ctx, req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if review == nil {
		return admission.Allowed("")
	}
	wrong, warnings, err := r.judge(ctx, review)
	if err != nil {
		log.FromContext(ctx).Error(err, "policy not reviewed", "namespace", req.Namespace, "name", req.Name)
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if len(wrong) > 0 {
		return refusal("policy", wrong)
	}
	warnings = append(warnings, r.warnings(ctx, review)...)
	return admission.Allowed("").WithWarnings(policy.Shortlist(warnings, mostWarnings, "; see the policy's status")...)
}

// review is one policy under review.
type review struct {
	*policy.Policy
	change
	author   admission.Request
	programs map[string]*engine.Program
	targets  map[int]*meta.RESTMapping // by index of the rule; without unknown kinds
	served   func() []*metav1.APIResourceList
}

// read returns the review of a request; nil if the request needs no review.
func (r *Reviewer) read(ctx context.Context, req admission.Request) (*review, error) {
	after, err := readWritten(req.Object.Raw)
	if err != nil {
		return nil, err
	}
	before, err := readWritten(req.OldObject.Raw)
	if err != nil {
		return nil, err
	}
	v := &review{change: change{before: before, after: after}, author: req, targets: map[int]*meta.RESTMapping{}}
	v.served = sync.OnceValue(func() []*metav1.APIResourceList { // once for all rules: discovery needs many requests
		done, err := r.discovering.take(ctx, req.Namespace)
		if err != nil {
			return nil
		}
		defer done()
		_, lists, _ := r.Kinds.ServerGroupsAndResources()
		return lists
	})
	if after == nil || v.harmless() {
		return nil, nil
	}
	document, err := policy.Parse(req.Object.Raw)
	if err != nil {
		return nil, err
	}
	v.Policy = document.Load(r.Protection)
	return v, nil
}

// compile compiles the rules. Only users with permission to write the policy can cause that.
func (r *Reviewer) compile(ctx context.Context, v *review) error {
	done, err := r.turns.take(ctx, v.Namespace)
	if err != nil {
		return err
	}
	defer done()
	v.programs = r.Compiler.Load(v.Policy)
	return nil
}

// judge returns the errors and the warnings of a policy. It returns err if the checks failed.
func (r *Reviewer) judge(ctx context.Context, v *review) (wrong []policy.Problem, warnings []string, err error) {
	changed := v.changedRules()
	for _, rule := range v.Rules {
		problem, fatal, err := r.resolve(v, rule)
		switch {
		case err != nil:
			return nil, nil, err
		case problem != nil && fatal && changed.Has(rule.ID.Rule):
			wrong = append(wrong, *problem)
		case problem != nil:
			warnings = append(warnings, problem.String())
		}
	}
	if v.Namespace == "" {
		warnings = append(warnings, r.referrers(v)...)
	} else {
		missing, err := r.missingPermissions(ctx, v)
		if err != nil {
			return nil, nil, err
		}
		if wrong = append(wrong, missing...); len(wrong) > 0 { // rules are compiled only for authors with the permissions of the rules
			return append(slices.Clone(v.Problems), wrong...), warnings, nil
		}
	}
	if err := r.compile(ctx, v); err != nil {
		return nil, nil, err
	}
	return append(slices.Clone(v.Problems), wrong...), warnings, nil
}

func refusal(what string, wrong []policy.Problem) admission.Response {
	lines := []string{"this " + what + " cannot be accepted:"}
	for _, problem := range wrong {
		lines = append(lines, "  "+problem.String())
		if snippet := problem.Snippet(); snippet != "" {
			lines = append(lines, "  "+strings.ReplaceAll(snippet, "\n", "\n  "))
		}
	}
	response := admission.Denied(strings.Join(lines, "\n"))
	response.Result.Code, response.Result.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	return response
}
