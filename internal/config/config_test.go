package config

import (
	"testing"
)

func TestTry(t *testing.T) {
	c, err := Parse("evergate.yaml", []byte(`
resilience:
  retry:
    max_retries: 2
    initial_backoff: 500ms
    max_backoff: 10s
    backoff_factor: 1.5
    jitter_factor: 0.05
  circuit_breaker:
    failure_threshold: 3
    success_threshold: 1
    timeout: 15s
providers:
  openai:
    type: openai-compatible
    base_url: https://api.openai.com
    api_key: sk-1
  anthropic:
    type: openai-compatible
    base_url: https://a.example
    api_key: ${ANTHROPIC_API_KEY}
    resilience:
      retry:
        max_retries: 5 # Anthropic supports long requests
  ollama:
    type: ollama
    base_url: ${OLLAMA_BASE_URL:-http://localhost:11434/v1}
    resilience:
      circuit_breaker:
        failure_threshold: 10 # local
        timeout: 5s
        timout: 3
    max_retries: 4
`), func(n string) (string, bool) { if n == "ANTHROPIC_API_KEY" { return "x$$y${Z}", true }; return "", false })
	if err != nil {
		t.Log(err)
		return
	}
	t.Log("\n" + c.Effective())
	t.Logf("%+v", c)
}
