// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// marking contains the only fields that a patch of Sunset may have.
type marking struct {
	Metadata struct {
		UID             types.UID          `json:"uid"`
		ResourceVersion string             `json:"resourceVersion"`
		Annotations     map[string]*string `json:"annotations"`
	} `json:"metadata"`
}

// markingOf reads a patch strictly. It returns an error if the patch does more than change marks.
func markingOf(r history.Request) (marking, error) {
	m := marking{}
	if err := strictly(r.Body, &m); err != nil {
		return m, err
	}
	_, marks := m.Metadata.Annotations[v1alpha1.EligibleSinceAnnotation]
	switch {
	case r.Subresource != "":
		return m, fmt.Errorf("it patches subresource %s", r.Subresource)
	case !marks || len(m.Metadata.Annotations) != 1:
		return m, fmt.Errorf("it must patch only annotation %s", v1alpha1.EligibleSinceAnnotation)
	case m.Metadata.UID == "" || m.Metadata.ResourceVersion == "":
		return m, fmt.Errorf("UID %q or resourceVersion %q is missing", m.Metadata.UID, m.Metadata.ResourceVersion)
	}
	return m, nil
}

// conditions returns the UID and resourceVersion that a DELETE or a patch names.
func conditions(r history.Request) (types.UID, string) {
	if r.Verb != "patch" {
		return r.Preconditions()
	}
	m := marking{}
	_ = json.Unmarshal(r.Body, &m) // another patch names no object
	return m.Metadata.UID, m.Metadata.ResourceVersion
}

// marking checks the form of a patch. Sunset marks held objects too, but not terminating ones.
func (j *checker) marking(r history.Request, named *history.State) {
	if brokeOff(r) {
		return
	}
	_, err := markingOf(r)
	if err == nil && named != nil && isTerminating(named) {
		err = errors.New("the object was terminating")
	}
	if err != nil {
		j.violated(Marked, r, named, 0, err.Error())
	}
}

// mayMark reports whether a rule may write the marks of a patch: it must have no startTime. To remove marks, it only needs to
// target the kind. To write a mark, it must find the object eligible.
func (j *checker) mayMark(rule *rule, r history.Request, s *history.State, o order) bool {
	switch {
	case rule.StartTime != "", rule.invalid != nil, rule.suspendedBy(rule.settings(o.teams)):
		return false
	case !writes(r, s):
		return true
	case !rule.selector.Matches(labels.Set(s.GetLabels())):
		return false
	case rule.compiled.refers(): // another object may refer to it by then
		return true
	}
	f := j.facts(rule, s, s.Revision)
	return f.err == nil && f.eligible || f.err != nil && isUnknown(f.err)
}

// writes reports whether a patch writes a mark that the object does not have.
func writes(r history.Request, s *history.State) bool {
	m, _ := markingOf(r) // marking reports other patches
	written := m.Metadata.Annotations[v1alpha1.EligibleSinceAnnotation]
	if written == nil {
		return false
	}
	before := marksIn(s.GetAnnotations()[v1alpha1.EligibleSinceAnnotation])
	for key, at := range marksIn(*written) {
		if known, ok := before[key]; !ok || !known.Equal(at) {
			return true
		}
	}
	return false
}
