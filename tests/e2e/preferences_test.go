package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// preferenceChecks are what preferences.py and preferences.js must report.
var preferenceChecks = strings.Fields("nothing order only ignore sort no_fallbacks models header header_counts strict max_price timeout unknown_provider nobody_left " +
	"messages responses gemini embeddings streamed policy_of_key policy_of_request policy_of_model byok byok_refused byok_needed")

// preferenceConfig has providers that differ in where they are, what they cost and whose key they take. What they are
// checks each request as strictly as the real APIs: a member that is the gateway's own would be refused.
const preferenceConfig = `
auth:
  keys:
    - { name: dev, value: dev-key }
    - { name: hospital, value: hospital-key, policy: eu-only }
providers:
  us: { type: openai, api: chat, base_url: "%[1]s/v1", api_key: house-key-ours, models: [m], attributes: { region: us, retention: 30d, training: true } }
  eu: { type: openai, api: chat, base_url: "%[1]s/v1", api_key: house-key-ours, models: [m], attributes: { region: eu, retention: none, training: false } }
  claude: { type: anthropic, base_url: "%[1]s", api_key: house-key-ours, models: [m], attributes: { region: us, retention: none, training: false } }
  theirs: { type: openai, api: chat, base_url: "%[1]s/v1", byok: require, models: [m] }
  down: { type: openai, api: chat, base_url: "http://127.0.0.1:9/v1", api_key: house-key-ours, models: [m], attributes: { region: eu } }
models:
  smart: { targets: [us/m, eu/m, claude/m] }
  fragile: { targets: [down/m] }
  overseas: { targets: [us/m, claude/m] }
  private: { targets: [us/m, eu/m], policy: eu-only }
  shared: { targets: [theirs/m, us/m] }
  paid: { targets: [theirs/m] }
policies:
  eu-only: { regions: [eu] }
  no-training: { training: false }
catalog:
  us/m: { input_price: 3, output_price: 3 }
  eu/m: { input_price: 2, output_price: 2 }
  claude/m: { input_price: 1, output_price: 1 }
resilience:
  retry: { max_retries: 0 }
  circuit_breaker: { failure_threshold: 0 }
  credential_cooldown: { base: 0 }
`

// TestPreferences says with real SDKs where requests would rather go, and checks where they went, what is forbidden by
// policies and whose key was used.
func TestPreferences(t *testing.T) {
	t.Parallel()
	mock := startMock(t, "keys: [house-key-ours, callers-own-mine]\n")
	g := serve(t, fmt.Sprintf(preferenceConfig, mock), "")
	env := []string{"EVERGATE_URL=" + g.url, "MOCK_URL=" + mock}
	t.Run("python", func(t *testing.T) { runScript(t, env, preferenceChecks, command("preferences.py")...) })
	t.Run("typescript", func(t *testing.T) { runScript(t, env, preferenceChecks, command("preferences.js")...) })
	for _, secret := range []string{"callers-own-mine", "wrong-own-key", "hospital-key", "house-key-ours"} {
		if strings.Contains(g.out.String(), secret) {
			t.Errorf("the log has the key %s", secret)
		}
	}
}
