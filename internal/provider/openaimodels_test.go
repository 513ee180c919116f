package provider

import "testing"

func TestReadOpenAIModel(t *testing.T) {
	none := OpenAIModel{}
	reasons := OpenAIModel{Reasons: true}
	five := OpenAIModel{Reasons: true, CustomTools: true}
	noChat := OpenAIModel{Reasons: true, NoChat: true}
	fiveNoChat := OpenAIModel{Reasons: true, CustomTools: true, NoChat: true}
	newer := OpenAIModel{Reasons: true, CustomTools: true, NoToolsInChat: true}
	for name, want := range map[string]OpenAIModel{
		"gpt-4o": none, "gpt-4.1-mini": none, "gpt-4o-2024-11-20": none, "gpt-3.5-turbo": none, "gpt-35-turbo": none, "gpt35turbo": none,
		"text-embedding-3-large": none, "chatgpt-4o-latest": none, "gpt-oss-120b": none, "ft:gpt-4o-mini:org::id": none,
		"gpt-4o-audio-preview": none, "my-deployment": none, "prod": none, "gemini-2.5-pro": none, "": none, "gpt-": none, "gpt": none,
		"o1": reasons, "o3-mini": reasons, "o4-mini-2025-04-16": reasons, "openai/o3": reasons,
		"gpt-5": five, "gpt-5-mini-2025-08-07": five, "gpt-5.1": five, "gpt-5.2": five, "azure_gpt-5_nano": five, "gpt5": five,
		"GPT-5-Mini": five, "ft:gpt-5-nano:org::id": five,
		"gpt-5-chat-latest": none, "gpt-5.3-chat-latest": none, "gpt-chat-latest": none,
		"o1-pro": noChat, "o3-pro": noChat, "gpt-5-pro": fiveNoChat, "gpt-5-codex": fiveNoChat, "gpt-5.1-codex-max": fiveNoChat,
		"o3-deep-research": noChat, "computer-use-preview": noChat,
		"codex-mini-latest": {NoChat: true},
		"gpt-5.4":           newer, "gpt-5.4-mini": newer, "gpt-5.10": newer, "gpt-5.6-terra": newer, "gpt-6": newer,
		"gpt-5.4-pro": {Reasons: true, CustomTools: true, NoChat: true, NoToolsInChat: true},
	} {
		if got := ReadOpenAIModel(name); got != want {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
}
