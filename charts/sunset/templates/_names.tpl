{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{/* Install Sunset once per cluster: resource names are fixed and do not depend on the name of the release. */}}

{{- define "sunset.labels" -}}
{{- $own := dict "app.kubernetes.io/part-of" "sunset" "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/managed-by" .Release.Service
  "app.kubernetes.io/version" .Chart.AppVersion "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version) -}}
{{- mergeOverwrite (dict) .Values.commonLabels $own | toYaml }}
{{- end }}

{{/* labelsOf: the labels of a program's objects, from a list with the chart's context, the program's name and more labels */}}
{{- define "sunset.labelsOf" -}}
{{- $own := dict "app.kubernetes.io/name" (index . 1) -}}
{{- mergeOverwrite (dict) (index . 2) (include "sunset.labels" (index . 0) | fromYaml) $own | toYaml }}
{{- end }}

{{/* image: the image name, from a list with the chart's context and the values of an image */}}
{{- define "sunset.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* featureGates: the value of the flag, from a dictionary */}}
{{- define "sunset.featureGates" -}}
{{- $pairs := list }}
{{- range $name, $on := . }}{{ $pairs = append $pairs (printf "%s=%t" $name $on) }}{{ end }}
{{- join "," $pairs }}
{{- end }}

{{/* objects: the objects of a file of the repository's folder crds, with the namespace, ServiceAccounts and labels of the release, from a
list with the chart's context and a name */}}
{{- define "sunset.objects" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $values := $root.Values }}
{{- $accounts := dict "sunset-controller" $values.serviceAccount "sunset-node-agent" $values.nodeAgent.serviceAccount }}
{{- $text := $root.Files.Get $name | required (printf "%s is missing in the chart" $name) | replace "sunset-system" $root.Release.Namespace }}
{{- range regexSplit "(?m)^---$" ($text | replace ":sunset-node-agent'" (printf ":%s'" $values.nodeAgent.serviceAccount.name)) -1 }}
{{- $object := fromYaml . }}
{{- $wanted := or $values.rbac.create (not (hasPrefix "rbac.authorization.k8s.io/" $object.apiVersion)) }}
{{- if eq $object.kind "ServiceAccount" }}
{{- $account := get $accounts $object.metadata.name }}
{{- $wanted = $account.create }}
{{- $_ := set $object.metadata "name" $account.name }}
{{- with $account.annotations }}{{ $_ := set $object.metadata "annotations" . }}{{ end }}
{{- end }}
{{- range $object.subjects }}{{ $_ := set . "name" (get $accounts .name).name }}{{ end }}
{{- $_ := set $object.metadata "labels" (mergeOverwrite (include "sunset.labels" $root | fromYaml) ($object.metadata.labels | default dict)) }}
{{- if $wanted }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}

{{/* deletes: the label of bindings without which Sunset deletes nothing */}}
{{- define "sunset.deletes" -}}
rbac.sunset-k8s.io/grants-deletion: "true"
{{- end }}

{{/* binding: a ClusterRoleBinding, from a dictionary with its name, the chart's context and more labels */}}
{{- define "sunset.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels:
    {{- with .labels }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- include "sunset.labels" .root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .name }}}
subjects: [{kind: ServiceAccount, namespace: {{ .root.Release.Namespace }}, name: {{ .root.Values.serviceAccount.name }}}]
{{- end }}

{{/* metricsToken: not empty if the chart creates the token with which Prometheus reads metrics */}}
{{- define "sunset.metricsToken" -}}
{{- with .Values.monitoring.serviceMonitor }}{{ and .enabled $.Values.metrics.secure (not .authorization) | ternary "true" "" }}{{ end }}
{{- end }}

{{/* memoryLimit: nine tenths of the memory limit of some resources, in bytes, for GOMEMLIMIT; empty without a limit */}}
{{- define "sunset.memoryLimit" -}}
{{- with dig "limits" "memory" "" (default dict .) | toString -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $unit := regexFind "[A-Za-z]*$" . -}}
{{- if hasKey $units $unit }}{{ mulf (trimSuffix $unit .) (get $units $unit) 0.9 | int64 }}{{ end -}}
{{- end -}}
{{- end }}
{{- /* sunset.webhookSecret is the name of the Secret with the certificate of the webhook. That of cert-manager has a name of its own, because Helm does not take over a Secret that cert-manager has created. */ -}}
{{- define "sunset.webhookSecret" -}}
{{- empty .Values.webhook.certManagerIssuer | ternary "sunset-webhook" "sunset-webhook-cert-manager" -}}
{{- end -}}
{{- /* sunset.dnsPorts are the ports of DNS, also those of the Pods on OpenShift. */ -}}
{{- define "sunset.dnsPorts" -}}
{{- range list 53 5353 -}}
- {port: {{ . }}, protocol: UDP}
- {port: {{ . }}, protocol: TCP}
{{ end -}}
{{- end -}}
