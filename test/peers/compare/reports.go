// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Reported are the objects that a tool calls unused.
type Reported = sets.Set[subject]

// korKinds are kor's names of kinds, where they differ from those of Kubernetes.
var korKinds = map[string]string{
	"Crd": "CustomResourceDefinition", "Hpa": "HorizontalPodAutoscaler", "Pdb": "PodDisruptionBudget", "Pv": "PersistentVolume",
	"Pvc": "PersistentVolumeClaim",
}

// ParseKor reads kor's JSON: namespace, kind, names.
func ParseKor(out []byte) (Reported, error) {
	var namespaces map[string]map[string][]string
	if err := json.Unmarshal(out, &namespaces); err != nil {
		return nil, fmt.Errorf("read the output of kor: %w", err)
	}
	all := Reported{}
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

// ParsePopeye reads popeye's JSON. Only the codes that say that an object is unused count.
func ParsePopeye(out []byte) (Reported, error) {
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
	all := Reported{}
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

// ParseSunset reads the JSON of kubectl sunset unused.
func ParseSunset(out []byte) (Reported, error) {
	var list struct {
		Verdicts []struct{ Kind, Namespace, Name string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read the output of kubectl sunset unused: %w", err)
	}
	all := Reported{}
	for _, o := range list.Verdicts {
		all.Insert(subject{o.Kind, o.Namespace, o.Name})
	}
	return all, nil
}
