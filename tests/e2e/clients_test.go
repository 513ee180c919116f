package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// suite is a script of checks with one of the real SDKs. It says here which checks there must be: once is what runs once,
// each what runs for every upstream dialect.
type suite struct {
	name, script string
	once, each   string
}

const (
	frameworkChecks = "plain streamed tools structured errors"
	vercelChecks    = "text stream image tools tools_stream structured errors cut"
	pydanticChecks  = "text tools stream output native errors"
	agentsChecks    = "tools stream output handed_off errors"
)

var suites = []suite{
	{
		"python openai", "openai_checks.py",
		"unknown_model recorded_chat recorded_responses",
		"chat chat_stream chat_stream_helper chat_limit chat_image chat_parse chat_parse_stream chat_tools chat_tools_parsed chat_tools_stream " +
			"chat_reasoning chat_async chat_errors chat_cut embeddings responses responses_stream responses_stream_helper responses_parse " +
			"responses_image responses_tools responses_tools_stream responses_thread responses_errors responses_cut",
	},
	{
		"python anthropic", "anthropic_checks.py",
		"models unknown_model recorded",
		"messages stream stream_helper limit stop_sequence image cache tools tools_error tools_stream thinking forced tool_runner structured " +
			"count_tokens errors cut",
	},
	{
		"python google", "google_checks.py",
		"models unknown_model recorded",
		"generate stream limit image tools tools_stream automatic forced structured chat count_tokens embed errors cut",
	},
	{
		"python langchain", "langchain_checks.py", "",
		named("chat", frameworkChecks) + named("responses", frameworkChecks) + named("messages", frameworkChecks) + "messages_structured_schema embeddings",
	},
	{
		"python pydantic-ai", "pydantic_ai_checks.py", "",
		named("chat", pydanticChecks) + named("responses", pydanticChecks) +
			strings.Replace(named("messages", pydanticChecks), "messages_native ", "", 1) + named("gemini", pydanticChecks),
	},
	{"python openai-agents", "openai_agents_checks.py", "", named("responses", agentsChecks) + named("chat", agentsChecks)},
	{
		"typescript openai", "openai_checks.js",
		"unknown_model recorded_chat recorded_responses",
		"chat chat_stream chat_image chat_parse chat_tools chat_run_tools chat_errors chat_cut embeddings responses responses_stream " +
			"responses_parse responses_tools responses_thread responses_errors responses_cut",
	},
	{
		"typescript anthropic", "anthropic_checks.js",
		"models unknown_model recorded",
		"messages stream image tools tools_stream tool_runner structured count_tokens errors cut",
	},
	{
		"typescript google", "google_checks.js",
		"models unknown_model recorded",
		"generate stream image tools tools_stream forced structured chat count_tokens embed errors cut",
	},
	{
		"typescript ai", "ai_checks.js", "",
		named("chat", vercelChecks) + named("responses", vercelChecks) + named("messages", vercelChecks) + named("gemini", vercelChecks),
	},
}

// named puts the name of a dialect before each check.
func named(dialect, checks string) string {
	return dialect + "_" + strings.ReplaceAll(checks, " ", " "+dialect+"_") + " "
}

// checks are all that a suite must report.
func (s *suite) checks() []string {
	all := strings.Fields(s.once)
	for _, check := range strings.Fields(s.each) {
		for _, u := range upstreams {
			all = append(all, u.Name+"/"+check)
		}
	}
	return all
}

// command is how a script is run.
func command(script string) []string {
	if strings.HasSuffix(script, ".py") {
		return []string{venvPython, filepath.Join(repo, "tests/sdk/python", script)}
	}
	return []string{"node", filepath.Join(repo, "tests/sdk/ts/build", script)}
}

// TestClients has a scripted conversation with each real SDK, in the dialects it speaks, to each upstream dialect: plain
// and streamed, with tools, structured answers, images and thoughts, with every kind of failure, and with recorded traffic.
func TestClients(t *testing.T) {
	g := startVendors(t)
	env := vendorEnv(t, g.url)
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			runScript(t, env, s.checks(), command(s.script)...)
		})
	}
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		goClients(t, g.url)
	})
}

// textChecks are what the suites of all client SDKs but chat's own do with a real model, which is too small for more.
var textChecks = strings.Fields("messages messages_stream responses responses_stream gemini gemini_stream")

// TestRealModel talks to a real model server, which speaks chat completions alone, in every other dialect.
func TestRealModel(t *testing.T) {
	alpha.ensure(t)
	beta.ensure(t)
	g := serve(t, modelConfig(""), "")
	env := []string{"EVERGATE_URL=" + g.url, "MODEL=fast"}
	python := slices.Concat(textChecks, strings.Fields("langchain_chat langchain_responses langchain_messages pydantic_ai openai_agents"))
	t.Run("python", func(t *testing.T) { runScript(t, env, python, command("text_checks.py")...) })
	typescript := slices.Concat(textChecks, strings.Fields("ai_chat ai_responses ai_messages ai_gemini"))
	t.Run("typescript", func(t *testing.T) { runScript(t, env, typescript, command("text_checks.js")...) })
	t.Run("go", func(t *testing.T) { goText(t, g.url, "fast") })
}
