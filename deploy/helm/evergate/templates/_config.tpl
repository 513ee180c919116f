{{- /* The gateway's config file: what the rest of the chart depends on is written here, the rest is the user's own text. */ -}}
{{- define "evergate.config" -}}
{{- $given := fromYaml .Values.config -}}
{{- if hasKey $given "Error" -}}
{{- fail (printf "config is not YAML: %s" $given.Error) -}}
{{- end -}}
{{- range $key := list "server" "admin" -}}
{{- if hasKey $given $key -}}
{{- fail (printf "config must not have %s, which the chart writes: set the value %s.extra instead" $key $key) -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey $given "state") .Values.state.url -}}
{{- fail "config has state, and the value state.url is set: say it in one place" -}}
{{- end -}}
{{- range $key := list "listen" "shutdown_delay" "shutdown_grace" -}}
{{- if hasKey $.Values.server.extra $key -}}
{{- fail (printf "server.extra must not have %s: set the value %s instead" $key (eq $key "listen" | ternary "server.port" "shutdown")) -}}
{{- end -}}
{{- end -}}
{{- if hasKey .Values.admin.extra "listen" -}}
{{- fail "admin.extra must not have listen: set the value admin.port instead" -}}
{{- end -}}
{{- if eq (int .Values.server.port) (int .Values.admin.port) -}}
{{- fail "server.port and admin.port are the same" -}}
{{- end -}}
server:
  listen: 0.0.0.0:{{ .Values.server.port }}
  shutdown_delay: {{ .Values.shutdown.delaySeconds }}s
  shutdown_grace: {{ .Values.shutdown.graceSeconds }}s
{{- with .Values.server.extra }}
  {{- toYaml . | nindent 2 }}
{{- end }}
admin:
  listen: 0.0.0.0:{{ .Values.admin.port }}
{{- with .Values.admin.extra }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{ .Values.config | trim }}
{{ end -}}
