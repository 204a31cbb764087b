// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestForecastIsThatOfPreview: for the same files, both programs print the same, and find the same.
func TestForecastIsThatOfPreview(t *testing.T) {
	const samples = "../../samples/"
	for name, args := range map[string][]string{
		"a directory":               {"-f", samples + "finished-jobs"},
		"another time":              {"-f", samples + "finished-jobs", "--at=2026-03-04T12:00:00+01:00"},
		"several directories":       {"-f", samples + "finished-jobs", "-f", samples + "finished-pods"},
		"files":                     {"-f", samples + "finished-jobs/policy.yaml", "-f", samples + "finished-jobs/objects.yaml"},
		"an invalid policy":         {"-f", samples + "combining/keep-beats-due"},
		"an expression that fails":  {"-f", samples + "combining/evaluation-failed"},
		"references":                {"-f", samples + "unused-configmaps"},
		"rules for images":          {"-f", samples + "image-age"},
		"declared but unseen kinds": {"-f", samples + "references-istio", "-f", samples + "unused-secrets/policy.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problems, wantOut, wantProblems bytes.Buffer
			err := run(t.Context(), args, now, &out, &problems)
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &wantOut, ErrOut: &wantProblems}
			code := command.Run(t.Context(), append([]string{"preview"}, args...), streams, now)
			expect.Equal(t, "findings", code == command.ExitFindings, errors.Is(err, errFindings))
			expect.Equal(t, "output", wantOut.String(), out.String())
			_, want, _ := strings.Cut(wantProblems.String(), "so the command does not read the cluster\n")
			expect.Equal(t, "problems", want, problems.String())
		})
	}
}

func TestForecastRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"must contain a policy and objects":   {"-f", "../../samples/finished-jobs/policy.yaml"},
		"name them with -f":                   nil,
		`unexpected argument "policy.yaml"`:   {"policy.yaml"},
		"no such file":                        {"-f", "missing.yaml"},
		`invalid value "tomorrow" for flag -`: {"--at", "tomorrow"},
	} {
		var out, problems bytes.Buffer
		if err := run(t.Context(), args, now, &out, &problems); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", args, err, want)
		}
	}
}

func TestForecastHelp(t *testing.T) {
	var out, problems bytes.Buffer
	expect.NoError(t, run(t.Context(), []string{"-h"}, now, &out, &problems))
	expect.Equal(t, "shows the flags", true, strings.Contains(problems.String(), "file or directory with policies and objects"))
}
