{{- define "cq.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "cq.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "cq.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "cq.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cq.selector" -}}
app.kubernetes.io/name: {{ include "cq.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "cq.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "cq.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "cq.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "cq.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "cq.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* Which component serves clients. */}}
{{- define "cq.serving" -}}
{{- if eq .Values.mode "fleet" }}replica{{ else }}node{{ end -}}
{{- end -}}

{{/* Options as flags, one list element each: { history: 30d } is --history=30d. Whole numbers stay whole: YAML reads them as floats. */}}
{{- define "cq.flags" -}}
{{- range $name, $value := . -}}
{{- $flag := regexReplaceAll "([A-Z])" $name "-${1}" | lower -}}
{{- range $one := (kindIs "slice" $value | ternary $value (list $value)) -}}
{{- $text := toString $one -}}
{{- if kindIs "bool" $one }}{{ $text = ternary "on" "off" $one }}{{ end -}}
{{- if kindIs "float64" $one }}{{ if eq (floor $one) $one }}{{ $text = toString (int64 $one) }}{{ end }}{{ end }}
- {{ printf "--%s=%s" $flag $text | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A variable for each option with a credential, by reference. Arguments: secretOptions, names. */}}
{{- define "cq.secretEnv" -}}
{{- $given := .given -}}
{{- range $name := .names -}}
{{- with get $given $name }}
- name: CHAIN_QUERY_{{ regexReplaceAll "([A-Z])" $name "_${1}" | upper }}
  valueFrom:
    secretKeyRef:
      name: {{ .name }}
      key: {{ .key }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The pod of a component. Arguments: root, component (node, ingester, replica), command, own (values of the component), options (set by the
chart), secrets (names of secretOptions that it gets).
*/}}
{{- define "cq.pod" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
{{- $serves := ne .component "ingester" -}}
{{- $dedicated := and $serves $values.dedicated.enabled -}}
{{- $keys := and $dedicated $values.dedicated.keys.name -}}
{{- $jwks := and $dedicated $values.dedicated.jwks.name -}}
{{- $credentials := and (ne .component "node") $values.fleet.storeCredentials.name -}}
{{- $set := dict "admin" (printf "0.0.0.0:%d" (int $values.admin.port)) -}}
{{- if $serves -}}
{{- $_ := set $set "public" (printf "0.0.0.0:%d" (int $values.public.port)) -}}
{{- $_ := set $set "dedicated" ($dedicated | ternary (printf "0.0.0.0:%d" (int $values.dedicated.port)) "off") -}}
{{- $_ := set $set "drainDelayMs" $values.drainDelayMs -}}
{{- end -}}
{{- $_ := set $set "shutdownTimeoutMs" $values.shutdownTimeoutMs -}}
{{- with $values.chain }}{{ $_ := set $set "chain" . }}{{ end -}}
{{- if $keys }}{{ $_ := set $set "keys" "/etc/chain-query/keys/keys.json" }}{{ end -}}
{{- if $jwks }}{{ $_ := set $set "jwks" "/etc/chain-query/jwks/jwks.json" }}{{ end -}}
{{- if $credentials }}{{ $_ := set $set "storeCredentials" "/etc/chain-query/store/credentials" }}{{ end -}}
metadata:
  labels:
    {{- include "cq.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- with $values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "cq.serviceAccount" $root }}
  automountServiceAccountToken: false
  # Kubernetes' own variables for a Service called chain-query would begin as ours do.
  enableServiceLinks: false
  # The drain, what requests under way get, and some time to end.
  terminationGracePeriodSeconds: {{ add 10 (div (add 999 ($serves | ternary (int $values.drainDelayMs) 0) (int $values.shutdownTimeoutMs)) 1000) }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .own.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .own.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .own.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if ne .component "node" }}
  topologySpreadConstraints:
    {{- if .own.topologySpreadConstraints }}
    {{- toYaml .own.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "cq.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $.component }}
    {{- end }}
    {{- end }}
  {{- end }}
  containers:
    - name: chain-query
      image: {{ include "cq.image" $root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args:
        - {{ .command }}
        {{- include "cq.flags" (mergeOverwrite (deepCopy $values.options) (deepCopy (.own.options | default dict)) .options $set) | nindent 8 }}
      {{- $env := include "cq.secretEnv" (dict "given" $values.secretOptions "names" .secrets) | trim }}
      {{- with $env }}
      env:
        {{- . | nindent 8 }}
      {{- end }}
      ports:
        {{- if $serves }}
        - { name: public, containerPort: {{ $values.public.port }} }
        {{- end }}
        {{- if $dedicated }}
        - { name: dedicated, containerPort: {{ $values.dedicated.port }} }
        {{- end }}
        - { name: admin, containerPort: {{ $values.admin.port }} }
      # Ten minutes: a new copy waits for its upstreams, a store that was not closed is looked through.
      startupProbe:
        httpGet: { path: /livez, port: admin }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: { path: /livez, port: admin }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: admin }
        periodSeconds: 3
        timeoutSeconds: 3
        failureThreshold: 2
      resources:
        {{- toYaml .own.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- if eq .component "node" }}
        - { name: data, mountPath: /data }
        {{- end }}
        {{- if $keys }}
        - { name: keys, mountPath: /etc/chain-query/keys, readOnly: true }
        {{- end }}
        {{- if $jwks }}
        - { name: jwks, mountPath: /etc/chain-query/jwks, readOnly: true }
        {{- end }}
        {{- if $credentials }}
        - { name: store, mountPath: /etc/chain-query/store, readOnly: true }
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 64Mi }
    {{- if and (eq .component "node") $values.single.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ $values.single.persistence.existingClaim }}
    {{- end }}
    {{- if $keys }}
    - name: keys
      secret:
        secretName: {{ $values.dedicated.keys.name }}
        defaultMode: 0440
        items: [{ key: {{ $values.dedicated.keys.key }}, path: keys.json }]
    {{- end }}
    {{- if $jwks }}
    - name: jwks
      secret:
        secretName: {{ $values.dedicated.jwks.name }}
        defaultMode: 0440
        items: [{ key: {{ $values.dedicated.jwks.key }}, path: jwks.json }]
    {{- end }}
    {{- if $credentials }}
    - name: store
      secret:
        secretName: {{ $values.fleet.storeCredentials.name }}
        defaultMode: 0440
        items: [{ key: {{ $values.fleet.storeCredentials.key }}, path: credentials }]
    {{- end }}
{{- end -}}
