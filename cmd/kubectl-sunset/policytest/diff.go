// SPDX-License-Identifier: Apache-2.0

package policytest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// Diff returns the differences between the expected and the actual results, line by line: "-" is expected, "+" is actual. If
// the result is empty, the test passes.
func Diff(want *Want, got *Got) []string {
	return slices.Concat(diffVerdicts(want.Verdicts, got.Verdicts), diffErrors(want.Errors, got.Errors), diffProblems(want.Problems, got.Problems))
}

func diffVerdicts(want, got []preview.Record) []string {
	var lines []string
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g preview.Record) bool { return sameSubject(w, g) })
		if i < 0 {
			lines = append(lines, "- "+line(verdictFields(w)), "  no rule selects the object, or it does not exist")
			continue
		}
		lines = append(lines, diffVerdict(w, left[i])...)
		left = slices.Delete(left, i, i+1)
	}
	for _, g := range left {
		lines = append(lines, "+ "+line(verdictFields(g)), "  not in "+FileName)
	}
	return lines
}

// sameSubject reports whether two decisions are about the same subject.
func sameSubject(want, got preview.Record) bool {
	return want.Kind == got.Kind && want.Namespace == got.Namespace && want.Name == got.Name &&
		(want.APIVersion == "" || want.APIVersion == got.APIVersion)
}

func diffVerdict(want, got preview.Record) []string {
	var lines []string
	has := map[string]string{}
	for _, f := range append(verdictFields(got), detailFields(got)...) {
		has[f.name] = f.value
	}
	for _, f := range append(verdictFields(want), detailFields(want)...) {
		if f.value != "" && !f.matches(has[f.name]) {
			lines = append(lines, fmt.Sprintf("  - %s: %s", f.name, f.value), fmt.Sprintf("  + %s: %s", f.name, cmp.Or(has[f.name], "(none)")))
		}
	}
	if lines == nil {
		return nil
	}
	return append([]string{"  " + strings.TrimSpace(want.Kind+" "+want.Namespace+"/"+want.Name) + ":"}, lines...)
}

// field is a field of an entry of want.yaml.
type field struct{ name, value string }

// matches reports whether an actual value matches: the same time, a message that contains the value, or equal text.
func (f field) matches(got string) bool {
	switch f.name {
	case "message":
		return strings.Contains(got, f.value)
	case "dueTime", "startTime":
		want, err := time.Parse(time.RFC3339, f.value)
		has, err2 := time.Parse(time.RFC3339, got)
		return err == nil && err2 == nil && want.Equal(has)
	default:
		return got == f.value
	}
}

// verdictFields returns the fields that --update writes.
func verdictFields(v preview.Record) []field {
	return []field{
		{"kind", v.Kind}, {"namespace", v.Namespace}, {"name", v.Name}, {"image", v.Image}, {"action", v.Action}, {"reason", v.Reason},
		{"policy", v.Policy}, {"rule", v.Rule}, {"dueTime", v.DueTime},
	}
}

// detailFields returns optional fields, which --update does not write.
func detailFields(v preview.Record) []field {
	return []field{{"apiVersion", v.APIVersion}, {"startTime", v.StartTime}, {"ttl", v.TTL}, {"message", v.Message},
		{"owner", v.Owner.String()}, {"apiVersion of owner", versionOf(v.Owner)}, {"propagationPolicy", v.Propagation}, {"dependents", number(v.Dependents)}, {"bytes", number(v.Bytes)}}
}

func versionOf(owner *preview.Owner) string {
	if owner == nil {
		return ""
	}
	return owner.APIVersion
}

func number[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

func diffErrors(want, got []preview.Failure) []string {
	var lines []string
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g preview.Failure) bool { return isFailure(w, g) })
		if i < 0 {
			lines = append(lines, "- error "+line(failureFields(w)))
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, g := range left {
		lines = append(lines, "+ error "+line(failureFields(g)))
	}
	return lines
}

func isFailure(want, got preview.Failure) bool {
	has := failureFields(got)
	for i, f := range failureFields(want) {
		if f.value != "" && !f.matches(has[i].value) {
			return false
		}
	}
	return true
}

func failureFields(f preview.Failure) []field {
	return []field{{"policy", f.Policy}, {"rule", f.Rule}, {"namespace", f.Namespace}, {"name", f.Name}, {"message", f.Message}}
}

// diffProblems reports expected problems that are missing, and problems that are not expected.
func diffProblems(want, got []string) []string {
	var lines []string
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, w) }) {
			lines = append(lines, "- problem "+w)
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(w string) bool { return strings.Contains(g, w) }) {
			lines = append(lines, "+ problem "+g)
		}
	}
	return lines
}
