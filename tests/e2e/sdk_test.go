package e2e

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// sdkChecks are the checks that the suite of each SDK must report, in Python, TypeScript and Go.
var sdkChecks = []string{
	"models", "chat", "headers", "stream", "stream_without_usage", "completions", "embeddings", "embeddings_missing",
	"tools", "tools_streamed", "unknown_model", "bad_request", "rate_limited", "server_error", "cut_stream",
}

// sdkEnv are the names that the checks use, for the scripts and for the Go checks.
var sdkEnv = map[string]string{
	"MODEL": "fast", "EMBEDDING_MODEL": "a/gemma", "NO_EMBEDDING_MODEL": "b/gemma",
	"LIMITED_MODEL": "limited/m", "BROKEN_MODEL": "broken/m", "CUT_MODEL": "cut/m",
}

// TestSDKs talks through one gateway with the official SDKs of three languages.
func TestSDKs(t *testing.T) {
	alpha.ensure(t)
	beta.ensure(t)
	g := serve(t, modelConfig(moody(t).URL), "")
	t.Run("go", func(t *testing.T) { goSDK(t, g.url) })
	env := []string{"EVERGATE_URL=" + g.url}
	for name, value := range sdkEnv {
		env = append(env, name+"="+value)
	}
	t.Run("python", func(t *testing.T) { runScript(t, env, sdkChecks, command("sdk.py")...) })
	t.Run("typescript", func(t *testing.T) { runScript(t, env, sdkChecks, command("sdk.js")...) })
}

// runScript runs a script that prints a line for each check, and reports each as a test of its own. want are the checks that
// there must be.
func runScript(t *testing.T, env, want []string, argv ...string) {
	t.Helper()
	p := start(t, strings.Join(argv, " "), env, argv...)
	if code := p.exitCode(t, 4*time.Minute); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var seen []string
	lines := bufio.NewScanner(strings.NewReader(p.out.String()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var result struct {
			Check string
			Ms    int
			Error *string
		}
		if json.Unmarshal(lines.Bytes(), &result) != nil || result.Check == "" {
			continue // something else that the script printed; shown if the test fails
		}
		seen = append(seen, result.Check)
		t.Run(result.Check, func(t *testing.T) {
			if result.Error != nil {
				t.Errorf("after %d ms: %s", result.Ms, *result.Error)
			}
		})
	}
	if !slices.Equal(seen, want) {
		t.Errorf("checks that ran: %v\nthere must be:  %v", seen, want)
	}
}
