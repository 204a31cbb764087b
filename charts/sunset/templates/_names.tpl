{{/* One Sunset is in a cluster: names are what the documentation says, whatever the release is called. */}}

{{- define "sunset.labels" -}}
app.kubernetes.io/part-of: sunset
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* image: of a list with the chart's context and an image's values */}}
{{- define "sunset.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* featureGates: of a dictionary, as the flag wants it */}}
{{- define "sunset.featureGates" -}}
{{- $pairs := list }}
{{- range $name, $on := . }}{{ $pairs = append $pairs (printf "%s=%t" $name $on) }}{{ end }}
{{- join "," $pairs }}
{{- end }}

{{/* file: of a list with the chart's context and a name: what is under crds in the repository, for the release's namespace */}}
{{- define "sunset.file" -}}
{{- $root := index . 0 }}{{ $name := index . 1 -}}
{{- $root.Files.Get $name | required (printf "%s is missing in the chart" $name) | replace "sunset-system" $root.Release.Namespace }}
{{- end }}

{{/* binding: of a dictionary with name, role and account in a namespace */}}
{{- define "sunset.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels: {{- include "sunset.labels" .root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .name }}}
subjects: [{kind: ServiceAccount, namespace: {{ .root.Release.Namespace }}, name: sunset-controller}]
{{- end }}
