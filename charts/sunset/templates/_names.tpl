{{/* Install Sunset once per cluster: resource names are fixed and do not depend on the name of the release. */}}

{{- define "sunset.labels" -}}
app.kubernetes.io/part-of: sunset
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
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

{{/* file: a file of the repository's folder crds, adapted to the release's namespace, from a list with the chart's context and a name */}}
{{- define "sunset.file" -}}
{{- $root := index . 0 }}{{ $name := index . 1 -}}
{{- $root.Files.Get $name | required (printf "%s is missing in the chart" $name) | replace "sunset-system" $root.Release.Namespace }}
{{- end }}

{{/* binding: a ClusterRoleBinding, from a dictionary with its name and the chart's context */}}
{{- define "sunset.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels: {{- include "sunset.labels" .root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .name }}}
subjects: [{kind: ServiceAccount, namespace: {{ .root.Release.Namespace }}, name: sunset-controller}]
{{- end }}
