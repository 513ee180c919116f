package wire

import (
	"strings"
	"testing"
)

// R46: the words with which each dialect asks for more than text.
func TestHintsOf(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Hints
	}{
		{"text", `{"model":"m","messages":[{"role":"user","content":"an image, a document, tools, audio"}]}`, 0},
		{"chat: image", `{"content":[{"type":"image_url","image_url":{"url":"https://x"}}]}`, HintsImage},
		{"chat: sound", `{"content":[{"type":"input_audio","input_audio":{}}]}`, HintsAudio},
		{"chat: file", `{"content":[{"type":"file","file":{"file_id":"f"}}]}`, HintsImage | HintsFile | HintsAudio | HintsVideo},
		{"chat: tools", `{"tools":[]}`, HintsTools},
		{"chat: functions", `{"functions":[]}`, HintsTools},
		{"chat: schema", `{"response_format":{"type":"json_schema"}}`, HintsSchema},
		{"chat: output", `{"modalities":["text"]}`, HintsOutput},
		{"messages: image", `{"type":"image","source":{"type":"url"}}`, HintsImage},
		{"messages: document", `{"type":"document","source":{}}`, HintsFile},
		{"messages: schema", `{"output_config":{"format":{}}}`, HintsSchema},
		{"responses: image", `{"type":"input_image"}`, HintsImage},
		{"responses: file", `{"type":"input_file"}`, HintsFile},
		{"gemini: image", `{"inlineData":{"mimeType":"image/png"}}`, HintsImage},
		{"gemini: sound", `{"inline_data":{"mime_type":"audio/wav"}}`, HintsAudio},
		{"gemini: film", `{"inlineData":{"mimeType":"video/mp4"}}`, HintsVideo},
		{"gemini: pdf", `{"inlineData":{"mimeType":"application/pdf"}}`, HintsFile},
		{"gemini: reference", `{"fileData":{"fileUri":"x"}}`, HintsImage | HintsFile | HintsAudio | HintsVideo},
		{"gemini: schema", `{"responseSchema":{}}`, HintsSchema},
		{"gemini: schema, by the other name", `{"response_json_schema":{}}`, HintsSchema},
		{"gemini: output", `{"responseModalities":["IMAGE"]}`, HintsOutput},
		{"in a text it is a hint only", `{"content":"say \"image\""}`, HintsImage},
		{"a word that goes on", `{"toolset":"tools_and_more"}`, 0},
		{"cut", `"imag`, 0},
		{"empty", ``, 0},
		{"a lone quote", `"`, 0},
	} {
		if got := HintsOf([]byte(tt.body)); got != tt.want {
			t.Errorf("%s: %b, want %b", tt.name, got, tt.want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { HintsOf([]byte(`{"tools":[]}`)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHintsOf(b *testing.B) {
	turn := `{"role":"user","content":"` + strings.Repeat("some words of a conversation, ", 30) + `"},`
	body := []byte(`{"model":"m","messages":[` + strings.Repeat(turn, 55) + `{}]}`) // 50 KB
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		HintsOf(body)
	}
}
