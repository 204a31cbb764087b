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
)

const (
	// answerWithin is less than the timeout of the webhook, so that the author reads what took so long.
	answerWithin = 8 * time.Second
	// warnWithin is how long to look for warnings.
	warnWithin = 3 * time.Second
)

// Kinds gives the kinds that the cluster serves; a discovery client does.
type Kinds interface {
	ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// Reviewer answers admission requests for both kinds of policy. All exported fields are required.
// Compiler is its own, so that what is only asked about displaces nothing that is in force.
type Reviewer struct {
	Compiler   *engine.Compiler
	Protection policy.Protection
	Mapper     meta.RESTMapper // must find kinds that are added later
	Kinds      Kinds
	Documents  openapi.Client
	Live       client.Reader
	// Ask fills in the status of a review.
	Ask func(context.Context, *authorizationv1.SubjectAccessReview) error

	turns       turns // of compiling
	looking     turns // of looking for warnings, which reads schemas
	discovering turns // of reading all kinds
}

var _ admission.Handler = (*Reviewer)(nil)

// Handle implements admission.Handler.
func (r *Reviewer) Handle(ctx context.Context, req admission.Request) admission.Response {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
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
		return refusal(wrong)
	}
	return admission.Allowed("").WithWarnings(atMost(append(warnings, r.warnings(ctx, review)...))...)
}

// review is one policy under review.
type review struct {
	*policy.Policy
	change
	author   admission.Request
	programs map[string]*engine.Program
	targets  map[int]*meta.RESTMapping // by index of the rule; none for a kind that is not known
	served   func() []*metav1.APIResourceList
}

// read gives nil for a request that needs no review.
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
	v.served = sync.OnceValue(func() []*metav1.APIResourceList { // many requests, so once for all rules
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

// compile compiles the rules, which only those may ask for who may write the policy.
func (r *Reviewer) compile(ctx context.Context, v *review) error {
	done, err := r.turns.take(ctx, v.Namespace)
	if err != nil {
		return err
	}
	defer done()
	v.programs = r.Compiler.Load(v.Policy)
	return nil
}

// judge gives what is wrong with a policy, and what may be. The error says that this could not be found out.
func (r *Reviewer) judge(ctx context.Context, v *review) (wrong []policy.Problem, warnings []string, err error) {
	for _, rule := range v.Rules {
		problem, fatal, err := r.resolve(v, rule)
		switch {
		case err != nil:
			return nil, nil, err
		case problem != nil && fatal:
			wrong = append(wrong, *problem)
		case problem != nil:
			warnings = append(warnings, problem.String())
		}
	}
	if v.Namespace == "" {
		warnings = append(warnings, r.referrers(v)...)
	} else {
		missing, err := r.rights(ctx, v)
		if wrong = append(wrong, missing...); err != nil {
			return nil, nil, err
		}
		if len(wrong) > 0 { // compiling is for authors who may do what the rules do
			return append(slices.Clone(v.Problems), wrong...), warnings, nil
		}
	}
	if err := r.compile(ctx, v); err != nil {
		return nil, nil, err
	}
	return append(slices.Clone(v.Problems), wrong...), warnings, nil
}

func refusal(wrong []policy.Problem) admission.Response {
	lines := []string{"this policy cannot be accepted:"}
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
