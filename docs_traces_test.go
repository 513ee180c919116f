package evergate_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every attribute of a span is documented, and no other.
func TestSpanAttributes(t *testing.T) {
	t.Parallel()
	there := found(sources(t, "internal/telemetry/traces/*.go"), `"((?:gen_ai|evergate|server|http|error)\.[a-z_.]+)"`)
	there = slices.DeleteFunc(there, func(name string) bool { return name == "evergate.skip" || name == "evergate.first_content" })
	var documented []string
	for _, row := range table(t, "docs/observability.md", "span attributes") {
		documented = append(documented, words(row[0])...)
	}
	same(t, "docs/observability.md: span attributes", documented, there)
}

// Every variable that traces are set by is documented, and no other.
func TestTraceVariables(t *testing.T) {
	t.Parallel()
	text := sources(t, "internal/telemetry/traces/*.go")
	there := found(text, `"(OTEL_(?:SDK|SERVICE|RESOURCE|TRACES|BSP)_\w+)"`)
	for _, name := range found(text, `(?:otlp|millis)\("(OTLP_\w+)"`) {
		there = append(there, "OTEL_EXPORTER_"+name)
	}
	var documented []string
	for _, row := range table(t, "docs/observability.md", "otel variables") {
		documented = append(documented, words(row[0])...)
	}
	same(t, "docs/observability.md: otel variables", documented, there)
}

// Every alert for Prometheus is documented with its severity, and no other.
func TestPrometheusAlerts(t *testing.T) {
	t.Parallel()
	var there []string
	for _, m := range regexp.MustCompile(`(?s)- alert: (\w+).*?severity: (\w+)`).FindAllStringSubmatch(source(t, "deploy/prometheus/alerts.yml"), -1) {
		there = append(there, m[1]+" "+m[2])
	}
	var documented []string
	for _, row := range table(t, "docs/observability.md", "alerts") {
		documented = append(documented, words(row[0])[0]+" "+strings.TrimSpace(row[1]))
	}
	same(t, "docs/observability.md: alerts", documented, there)
}
