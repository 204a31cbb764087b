// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// Report is the result of check in JSON and YAML, of kind InstallationReport. The format is stable.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Checks          []Check `json:"checks"` // always in the same order; node-agents only with policies about images, archives and digests only if there are any
}

// Check is the result of one check.
type Check struct {
	Name     string `json:"name"`   // such as leader
	Result   Result `json:"result"` // PASS, WARN, FAIL or SKIP
	Message  string `json:"message"`
	NextStep string `json:"nextStep,omitempty"` // what to do; empty if there is nothing to do
}

// Result says how a check ended.
type Result string

// The results of checks.
const (
	Pass Result = "PASS"
	Warn Result = "WARN" // Sunset works, but maybe not as intended
	Fail Result = "FAIL" // Sunset does not work, or a policy lacks permissions
	Skip Result = "SKIP" // the user may not read what the check needs, or there is nothing to compare
)

// Settings say what to check.
type Settings struct {
	Namespace string // of the controller; empty if it is not known
	Version   string // of this program
	Now       time.Time
}

// installation reads a cluster.
type installation struct {
	*cluster.Cluster
	Settings
	at time.Time // of the API server
}

// Run makes all checks. It returns an error if the API server does not respond.
func Run(ctx context.Context, c *cluster.Cluster, s Settings) (*Report, error) {
	at, err := c.Time(ctx)
	if err != nil {
		return nil, err
	}
	i := &installation{c, s, at}
	r := &Report{TypeMeta: preview.TypeMeta("InstallationReport"), Checks: []Check{i.kinds(), i.clock()}}
	r.Checks = append(r.Checks, i.controller(ctx)...)
	r.Checks = append(r.Checks, i.admission(ctx))
	r.Checks = append(r.Checks, i.policies(ctx)...)
	r.Checks = append(r.Checks, i.readiness(ctx)...)
	return r, nil
}

// unreadable returns the result of a check that cannot read what it needs.
func unreadable(name string, err error) Check {
	if status := apierrors.APIStatus(nil); apierrors.IsForbidden(err) && errors.As(err, &status) {
		return Check{name, Skip, status.Status().Message, "repeat it as a user with this permission"}
	}
	return Check{Name: name, Result: Fail, Message: err.Error()}
}

// HasFailed reports whether a check has failed.
func (r *Report) HasFailed() bool { return r.count(Fail) > 0 }

func (r *Report) count(result Result) int {
	return len(slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Result != result }))
}

// WriteText writes a line for each check, and the numbers of results.
func (r *Report) WriteText(w io.Writer) error {
	style := text.StyleOf(w)
	longest := 0
	for _, c := range r.Checks {
		longest = max(longest, len(c.Name))
	}
	for _, c := range r.Checks {
		said := c.Message
		if c.NextStep != "" {
			said += "; " + c.NextStep
		}
		start := len(Pass) + 2 + longest + 2
		lines := style.Wrap(said, start, start)
		fmt.Fprintf(w, "%s  %-*s  %s\n", c.Result.painted(style), longest, c.Name, lines[0][start:])
		for _, line := range lines[1:] {
			fmt.Fprintln(w, line)
		}
	}
	_, err := fmt.Fprintf(w, "\n%d passed, %d warnings, %d failed, %d skipped\n", r.count(Pass), r.count(Warn), r.count(Fail), r.count(Skip))
	return err
}

func (r Result) painted(style text.Style) string {
	switch r {
	case Pass:
		return style.Good(string(r))
	case Fail:
		return style.Bad(string(r))
	default:
		return style.Warning(string(r))
	}
}
