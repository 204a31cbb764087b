// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

// reported are the objects that a tool calls unused.
type reported = sets.Set[subject]

// runKor runs kor, which reads also its tokens for Slack from the environment: it gets none.
func runKor(ctx context.Context, path, kubeconfig, home string) (reported, error) {
	out, err := output(ctx, home, path, "all", "--output", "json", "--kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	return parseKor(out)
}

// runKorWithoutOwned runs kor with the flag that skips objects with owners.
func runKorWithoutOwned(ctx context.Context, path, kubeconfig, home string) (reported, error) {
	out, err := output(ctx, home, path, "all", "--ignore-owner-references", "--output", "json", "--kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	return parseKor(out)
}

// runPopeye runs popeye, which ends with 1 if it finds anything.
func runPopeye(ctx context.Context, path, kubeconfig, home string) (reported, error) {
	out, err := output(ctx, home, path, "--all-namespaces", "--out", "json", "--force-exit-zero", "--kubeconfig", kubeconfig)
	if err != nil {
		return nil, err
	}
	return parsePopeye(out)
}

// output runs a program with a home directory and no other environment.
func output(ctx context.Context, home, path string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	c := exec.CommandContext(ctx, path, args...)
	c.Env = []string{"HOME=" + home, "TMPDIR=" + home, "XDG_CONFIG_HOME=" + home}
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s%s", path, err, out, stderr.Bytes())
	}
	return out, nil
}

// korKinds are kor's names of kinds, where they differ from those of Kubernetes.
var korKinds = map[string]string{
	"Crd": "CustomResourceDefinition", "Hpa": "HorizontalPodAutoscaler", "Pdb": "PodDisruptionBudget", "Pv": "PersistentVolume",
	"Pvc": "PersistentVolumeClaim",
}

// parseKor reads kor's JSON: namespace, kind, names.
func parseKor(out []byte) (reported, error) {
	var namespaces map[string]map[string][]string
	if err := json.Unmarshal(out, &namespaces); err != nil {
		return nil, fmt.Errorf("read the output of kor: %w", err)
	}
	all := reported{}
	for namespace, kinds := range namespaces {
		for kind, names := range kinds {
			if known, ok := korKinds[kind]; ok {
				kind = known
			}
			for _, name := range names {
				all.Insert(subject{kind, namespace, name})
			}
		}
	}
	return all, nil
}

// popeyeKinds are the kinds of popeye's linters that the samples have too.
var popeyeKinds = map[string]string{
	"clusterrolebindings": "ClusterRoleBinding", "clusterroles": "ClusterRole", "configmaps": "ConfigMap", "daemonsets": "DaemonSet",
	"deployments": "Deployment", "gateways": "Gateway", "horizontalpodautoscalers": "HorizontalPodAutoscaler", "httproutes": "HTTPRoute",
	"ingresses": "Ingress", "jobs": "Job", "networkpolicies": "NetworkPolicy", "persistentvolumeclaims": "PersistentVolumeClaim",
	"persistentvolumes": "PersistentVolume", "poddisruptionbudgets": "PodDisruptionBudget", "pods": "Pod", "replicasets": "ReplicaSet",
	"rolebindings": "RoleBinding", "roles": "Role", "secrets": "Secret", "serviceaccounts": "ServiceAccount", "services": "Service",
	"statefulsets": "StatefulSet",
}

// popeyeCodes are the codes that say that nothing uses an object, or that it uses, selects or runs nothing. Others are about health,
// security and capacity.
var popeyeCodes = []string{"400", "407", "500", "600", "601", "900", "1000", "1100", "1105", "1200", "1300", "1401"}

var popeyeCode = regexp.MustCompile(`^\[POP-(\d+)\]`)

// parsePopeye reads popeye's JSON. Only the codes that say that an object is unused count.
func parsePopeye(out []byte) (reported, error) {
	var report struct {
		Popeye struct {
			Sections []struct {
				Linter string
				Issues map[string][]struct{ Message string }
			}
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("read the output of popeye: %w", err)
	}
	all := reported{}
	for _, section := range report.Popeye.Sections {
		kind, ok := popeyeKinds[section.Linter]
		if !ok {
			continue
		}
		for object, issues := range section.Issues {
			namespace, name, namespaced := strings.Cut(object, "/")
			if !namespaced {
				namespace, name = "", object
			}
			for _, issue := range issues {
				code := popeyeCode.FindStringSubmatch(issue.Message)
				if code != nil && slices.Contains(popeyeCodes, code[1]) {
					all.Insert(subject{kind, namespace, name})
				}
			}
		}
	}
	return all, nil
}

// runSunset runs kubectl sunset unused.
func runSunset(ctx context.Context, _, kubeconfig, _ string) (reported, error) {
	var out, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &stderr}
	if code := command.Run(ctx, []string{"unused", "-o", "json", "--kubeconfig", kubeconfig}, streams, time.Now()); code != command.ExitOK {
		return nil, fmt.Errorf("kubectl sunset unused: exit code %d\n%s%s", code, out.String(), stderr.String())
	}
	return parseSunset(out.Bytes())
}

func parseSunset(out []byte) (reported, error) {
	var list struct {
		Verdicts []struct{ Kind, Namespace, Name string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read the output of kubectl sunset unused: %w", err)
	}
	all := reported{}
	for _, o := range list.Verdicts {
		all.Insert(subject{o.Kind, o.Namespace, o.Name})
	}
	return all, nil
}
