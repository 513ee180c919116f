package gemini

import (
	"testing"

	"evergate/internal/llm"
)

// What no provider counts is estimated over all that the model would read, in either form of the request.
func TestDecodeCounted(t *testing.T) {
	t.Parallel()
	counted := func(body string) int64 {
		t.Helper()
		r, err := CountTokens{}.ReadRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		q, err := CountTokens{}.DecodeCounted(&r)
		if err != nil {
			t.Fatal(err)
		}
		return llm.Estimate(q)
	}
	const contents = `"contents":[{"role":"user","parts":[{"text":"How many tokens are these words?"}]}]`
	plain := counted(`{` + contents + `}`)
	if nested := counted(`{"generateContentRequest":{"model":"models/m",` + contents + `}}`); nested != plain || plain == 0 {
		t.Errorf("%d tokens of the contents, %d of the same in a whole request", plain, nested)
	}
	if more := counted(`{"generateContentRequest":{` + contents + `,"systemInstruction":{"parts":[{"text":"Count them one by one."}]}}}`); more <= plain {
		t.Errorf("%d tokens with a system instruction, %d without", more, plain)
	}
	if got := string(CountTokens{}.AppendCount(nil, 12)); got != `{"totalTokens":12}` {
		t.Error(got)
	}
}
