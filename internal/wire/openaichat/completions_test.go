package openaichat

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func readPrompt(body string) (*llm.Request, error) {
	r, err := Completions{}.ReadRequest([]byte(body))
	if err != nil {
		return nil, err
	}
	return Completions{}.DecodeRequest(&r)
}

func TestDecodeCompletion(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"model":"m","prompt":"Once","max_tokens":16,"logprobs":2,"best_of":3,"suffix":"end","echo":true,"stop":"\n","n":2,"user":"u"}`,
		`{"model":"m","prompt":["Once"],"max_tokens":16,"logprobs":2,"best_of":3,"suffix":"end","echo":true,"stop":["\n"],"n":2,"user":"u"}`,
	} {
		q, err := readPrompt(body)
		if err != nil {
			t.Fatal(err)
		}
		want := &llm.Request{
			Model: "m", Choices: 2, MaxTokens: 16, LogProbs: true, TopLogProbs: 2, Stop: []string{"\n"}, User: "u",
			Messages: []llm.Message{turn(llm.User, told("Once"))},
		}
		if d := cmp.Diff([]string{"best_of", "suffix", "echo"}, q.Dropped.Names()); d != "" {
			t.Error(d)
		}
		q.Dropped = nil
		if d := cmp.Diff(string(show(want)), string(show(q))); d != "" {
			t.Error(d)
		}
	}
	if q, err := readPrompt(`{"model":"m","prompt":"x","best_of":1,"echo":false,"suffix":null,"logprobs":null}`); err != nil || len(q.Dropped.Names()) > 0 || q.LogProbs {
		t.Errorf("%v %+v", err, q)
	}
	for body, says := range map[string]string{
		`{"model":"m"}`:                           `"prompt" is missing`,
		`{"model":"m","prompt":null}`:             `"prompt" is missing`,
		`{"model":"m","prompt":[]}`:               `"prompt" is missing`,
		`{"model":"m","prompt":["a","b"]}`:        "several prompts",
		`{"model":"m","prompt":[1,2]}`:            "token ids",
		`{"model":"m","prompt":[[1],[2]]}`:        "token ids",
		`{"model":"m","prompt":7}`:                "must be a string, not a number",
		`{"model":"m","prompt":[{}]}`:             "must be a string, not an object",
		`{"model":"m","prompt":"x","best_of":{}}`: "whole number",
	} {
		_, err := readPrompt(body)
		var e *wire.RequestError
		if !errors.As(err, &e) || !strings.Contains(e.Message, says) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestCompletionAnswers(t *testing.T) {
	t.Parallel()
	a := answer(llm.ToolUse, thinks("hm", nil), told("a\n"), told("b"), call("c", "f", "{}"))
	a.Usage = llm.Usage{Known: true, Input: 1, Output: 2}
	a.Choices[0].LogProbs = []byte(`[{"token":"é","logprob":-0.5,"bytes":null,"top_logprobs":[{"token":"é","logprob":-0.5},{"token":"b","logprob":-1}]},{"token":"b","logprob":-1e-3,"top_logprobs":[]}]`)
	q := &llm.Request{LogProbs: true, StreamUsage: true, Dropped: &llm.Dropped{}}
	const usage = `"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
	const probs = `{"tokens":["é","b"],"token_logprobs":[-0.5,-1e-3],"top_logprobs":[{"é":-0.5,"b":-1},{}],"text_offset":[0,1]}`
	want := `{"id":"msg_1","object":"text_completion","created":1700000000,"model":"up","choices":[{"text":"a\nb","index":0,"logprobs":` + probs + `,"finish_reason":"stop"}],` + usage + `}`
	if got := string((Completions{}).AppendReply(nil, a, q)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d := cmp.Diff([]string{"reasoning", "tool_calls"}, q.Dropped.Names()); d != "" {
		t.Error(d)
	}
	if _, f := (Completions{}).Judge([]byte(want)); f != nil {
		t.Error(f)
	}

	head := `data: {"id":"msg_1","object":"text_completion","created":1700000000,"model":"up","choices":[`
	stream := ""
	for _, choice := range []string{
		`{"text":"a\n","index":0,"logprobs":null,"finish_reason":null}`,
		`{"text":"","index":0,"logprobs":` + probs + `,"finish_reason":null}`,
		`{"text":"b","index":0,"logprobs":null,"finish_reason":null}`,
		`{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}`,
	} {
		stream += head + choice + `],"usage":null}` + "\n\n"
	}
	stream += head + `],` + usage + "}\n\ndata: [DONE]\n\n"
	q.Dropped = &llm.Dropped{}
	if d := cmp.Diff(stream, string(encode(Completions{}, a, q, true))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"reasoning", "tool_calls"}, q.Dropped.Names()); d != "" {
		t.Error(d)
	}
}
