package openaichat

import (
	"bytes"
	"slices"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// OpenAI refuses speech without a voice and a format; a client of another dialect may have named neither.
func TestSpeechNeedsAVoice(t *testing.T) {
	t.Parallel()
	for voice, asks := range map[string]bool{"": false, "alloy": true} {
		q := &llm.Request{
			Messages:   []llm.Message{{Role: llm.User, Content: []llm.Part{{Kind: llm.Text, Text: "Hi"}}}},
			Modalities: []string{"text", "audio"}, AudioVoice: voice, Dropped: &llm.Dropped{},
		}
		body, err := Chat{}.EncodeRequest(nil, q, &wire.Target{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(body, []byte(`"audio"`)) != asks || slices.Contains(q.Dropped.Names(), "modalities") == asks {
			t.Errorf("voice %q: %s, dropped %v", voice, body, q.Dropped.Names())
		}
	}
}
